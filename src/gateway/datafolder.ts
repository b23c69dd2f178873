// Takes the data folder before the store is opened: locks it, inspects it in a child process,
// quarantines a damaged log and reads the intents of the last process.

import { randomBytes } from 'node:crypto'
import { GATEWAY_ACTOR } from '../core/actor.ts'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { fixedSecret, type Secret } from '../core/secret.ts'
import { StoreOpenError } from '../store/environment/lmdb.ts'
import { markCleanShutdown } from '../store/files/clean-shutdown.ts'
import { isDiskFull } from '../store/files/disk-space.ts'
import { makeFolder } from '../store/files/folder.ts'
import { Intents } from '../store/files/intents.ts'
import { DirectoryHeldError, type DirectoryLock, holdDirectory } from '../store/files/lock.ts'
import { ownKey, PSEUDONYM_KEY_FILE, readOwnKey, USER_KEY_FILE } from '../store/files/own-key.ts'
import { ownSigningKey } from '../store/files/signingkey.ts'
import { inspectStore } from '../store/opening/inspection.ts'
import {
  finishQuarantine,
  listQuarantines,
  quarantineStore,
  succeedStore,
} from '../store/opening/quarantine.ts'
import type { GatewayLogger } from './logger.ts'

export interface DataFolder {
  readonly intents: Intents
  /** Private key for checkpoints: Ed25519, PKCS#8, PEM. */
  readonly signingKey: string
  /** Key under which end users are hashed; null when none was ever made. */
  readonly userKey: Buffer | null
  /** Key of pseudonyms. */
  readonly pseudonymKey: Secret
  /** Number of damaged logs set aside in it, by this start or an earlier one. */
  readonly quarantines: number
  /**
   * Unlocks the folder. To be called after the store is closed; calling it again is harmless.
   * @param intact whether every write succeeded, so that the next start can skip the inspection
   */
  release(intact?: boolean): Promise<void>
}

/**
 * Locks the data folder for this process and creates it if missing.
 * @throws StoreOpenError (rejects) that says what is wrong and what to do
 */
export async function takeDataFolder(
  { data, audit, pii }: Config,
  logger: GatewayLogger,
): Promise<DataFolder> {
  const { path } = data
  const lock = await lockFolder(path)
  try {
    if (lock.weakness !== null) {
      const message =
        'files in the data folder cannot be locked; another gateway on it is not noticed in another network namespace'
      logger.warn({ reason: lock.weakness }, message)
    }
    await endUnusableLog(path, logger)
    const intents = new Intents(path, {
      onUnavailable: (cause) => {
        const reason = isDiskFull(cause) ? ' (disk full)' : ''
        logger.error({ err: cause }, `intents cannot be written${reason}; calls are refused`)
      },
      onAvailable: () => logger.info({}, 'intents can be written again'),
    })
    const release = async (intact: boolean): Promise<void> => {
      try {
        intents.close()
      } catch (error) {
        logger.warn({ err: error }, 'the file of intents could not be closed')
      }
      try {
        if (intact) markCleanShutdown(path)
      } catch (error) {
        logger.warn({ err: error }, 'the clean stop could not be marked; the next start inspects the store')
      }
      await lock.release()
    }
    let released: Promise<void> | null = null
    return {
      intents,
      signingKey: audit.signingKey?.current() ?? ownSigningKey(path),
      userKey: (audit.user === 'off' ? readOwnKey : ownKey)(path, USER_KEY_FILE),
      pseudonymKey: pii.pseudonymKey ?? fixedSecret(ownKey(path, PSEUDONYM_KEY_FILE).toString('hex')),
      quarantines: listQuarantines(path).length,
      release(intact = false) {
        released ??= release(intact)
        return released
      },
    }
  } catch (error) {
    await lock.release()
    throw asOpenError(path, error)
  }
}

async function lockFolder(path: string): Promise<DirectoryLock> {
  try {
    makeFolder(path)
    return await holdDirectory(path)
  } catch (error) {
    throw asOpenError(path, error)
  }
}

/** Begins a new log where the one in the folder is damaged, or is a copy of another. */
async function endUnusableLog(path: string, logger: GatewayLogger): Promise<void> {
  finishQuarantine(path)
  const inspection = await inspectStore(path)
  if (inspection.state === 'sound') return
  if (inspection.state === 'unknown') throw new StoreOpenError(inspection.reason)
  const isDamaged = inspection.state === 'damaged'
  const setAside = isDamaged ? quarantineStore : succeedStore
  const ended = { ...inspection, actor: GATEWAY_ACTOR }
  const { folder, log, reason, carried } = await setAside(path, ended, systemClock.now(), randomBytes)
  const keys = carried
    ? 'API keys and rules made through the API were carried over'
    : 'API keys and rules made through the API are lost'
  if (isDamaged) {
    const message = 'the usage log is damaged; it was set aside unchanged and a new log was started'
    logger.error({ reason, folder, log }, `${message}; ${keys}`)
  } else {
    const message = 'the data folder was copied or restored; its log was set aside and a new log was started'
    logger.warn({ reason, folder, log, predecessor: inspection.log }, `${message}; ${keys}`)
  }
}

function asOpenError(path: string, error: unknown): StoreOpenError {
  if (error instanceof StoreOpenError) return error
  const { message } = error as Error
  const reason =
    error instanceof DirectoryHeldError ? message : `the data directory ${path} cannot be used: ${message}`
  return new StoreOpenError(reason, { cause: error })
}
