// The data folder before the store is opened: held by one gateway at a time, looked at in a child process, a damaged
// log set aside, the calls read that the process before left behind.

import { randomBytes } from 'node:crypto'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { markCleanShutdown } from '../store/folder/clean-shutdown.ts'
import { makeFolder } from '../store/folder/folder.ts'
import { inspectStore } from '../store/folder/inspection.ts'
import { Intents } from '../store/folder/intents.ts'
import { DirectoryHeldError, type DirectoryLock, holdDirectory } from '../store/folder/lock.ts'
import { finishQuarantine, listQuarantines, quarantineStore } from '../store/folder/quarantine.ts'
import { ownSigningKey } from '../store/folder/signingkey.ts'
import { StoreOpenError } from '../store/lmdb.ts'
import type { GatewayLogger } from './logger.ts'

export interface DataFolder {
  readonly intents: Intents
  /** Signs checkpoints: Ed25519, PKCS#8, PEM. */
  readonly signingKey: string
  /** How many logs lie set aside in it, from whatever start. */
  readonly quarantines: number
  /**
   * The store is closed: lets the next gateway have the folder. Repeating it is fine.
   * @param intact nothing failed while it was open: the next start need not look at it
   */
  release(intact?: boolean): Promise<void>
}

/**
 * Takes the data folder, which is made if missing, for this process.
 * @throws StoreOpenError (rejects) saying what is in the way and what to do
 */
export async function takeDataFolder({ data, audit }: Config, logger: GatewayLogger): Promise<DataFolder> {
  const { path } = data
  const lock = await hold(path)
  try {
    await replaceDamaged(path, logger)
    const intents = new Intents(path, {
      onUnavailable: (cause) =>
        logger.error({ err: cause }, 'calls under way cannot be written down; calls are refused'),
      onAvailable: () => logger.info({}, 'calls under way can be written down again'),
    })
    const release = async (intact: boolean): Promise<void> => {
      try {
        intents.close()
      } catch (error) {
        logger.warn({ err: error }, 'the list of calls under way stays as it is')
      }
      try {
        if (intact) markCleanShutdown(path)
      } catch (error) {
        logger.warn({ err: error }, 'the next start will look at the store first')
      }
      await lock.release()
    }
    let released: Promise<void> | null = null
    return {
      intents,
      signingKey: audit.signingKey?.current() ?? ownSigningKey(path),
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

async function hold(path: string): Promise<DirectoryLock> {
  try {
    makeFolder(path)
    return await holdDirectory(path)
  } catch (error) {
    throw asOpenError(path, error)
  }
}

async function replaceDamaged(path: string, logger: GatewayLogger): Promise<void> {
  finishQuarantine(path)
  const inspection = await inspectStore(path)
  if (inspection.state === 'sound') return
  if (inspection.state === 'unknown') throw new StoreOpenError(inspection.reason)
  const { folder, reason, carried } = await quarantineStore(path, inspection, systemClock.now(), randomBytes)
  const keys = carried ? 'keys and rules of the API were taken over' : 'keys and rules of the API are lost'
  logger.error(
    { reason, folder },
    `the log is damaged and was set aside as it is; a new one begins, and ${keys}`,
  )
}

function asOpenError(path: string, error: unknown): StoreOpenError {
  if (error instanceof StoreOpenError) return error
  const { message } = error as Error
  const said =
    error instanceof DirectoryHeldError ? message : `the data directory ${path} cannot be used: ${message}`
  return new StoreOpenError(said, { cause: error })
}
