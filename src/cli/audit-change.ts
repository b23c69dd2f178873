// The actions of `sidegate audit` that write: `erase` removes captured exchanges, `rollup
// --rebuild` counts the log again, `new-log` ends a log and begins another that names it, and
// `compact` copies the data directory without the free pages, which may hold erased data.

import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { isoTime } from '../core/time.ts'
import { LOCK_FILE } from '../store/environment/lmdb.ts'
import { makeFolder } from '../store/files/folder.ts'
import { DATA_FILE } from '../store/files/header.ts'
import { DirectoryHeldError, holdDirectory } from '../store/files/lock.ts'
import { PSEUDONYM_KEY_FILE, readOwnKey, USER_KEY_FILE } from '../store/files/own-key.ts'
import { SIGNING_KEY_FILE } from '../store/files/signingkey.ts'
import { syncToDisk } from '../store/files/sync.ts'
import type { EraseSelection, Erasure } from '../store/log/erase.ts'
import { adoptCopy, isCopy, recordedIdentity } from '../store/opening/identity.ts'
import { inspectLog } from '../store/opening/inspection.ts'
import { finishQuarantine, quarantineStore, succeedStore } from '../store/opening/quarantine.ts'
import { openDirectory, requireLog, SourceError } from '../store/verification/log-source.ts'
import { progressBar } from './audit-verify.ts'
import { type CommandIo, type ExitCode, UsageError, writeLine } from './command.ts'
import { commandActor } from './command-actor.ts'
import { memoryFault } from './command-memory.ts'
import { openConfiguredStore } from './open-store.ts'

/** Returns the selection of the options. @throws UsageError unless exactly one is given */
export function readSelection(
  request: string | undefined,
  key: string | undefined,
  user: string | undefined,
  beforeMs: number | null,
): EraseSelection {
  const given: EraseSelection[] = []
  if (request !== undefined) given.push({ requestId: request })
  if (key !== undefined) given.push({ keyId: key })
  if (user !== undefined) given.push({ user })
  if (beforeMs !== null) given.push({ beforeMs })
  const [selection, more] = given
  if (selection === undefined || more !== undefined) {
    throw new UsageError('give exactly one of --request, --key, --user and --before')
  }
  return selection
}

/**
 * Erases the selection and prints the counts.
 * @throws SourceError (rejects) when there is no log, or a damaged key of end users
 */
export async function erase(config: Config, selection: EraseSelection, io: CommandIo): Promise<ExitCode> {
  requireLog(config.data.path)
  const store = openConfiguredStore(config, 'user' in selection ? userKeyOf(config.data.path) : null)
  try {
    const erasure = await store.log.erase(selection, commandActor())
    if (erasure === null) {
      const missing =
        'keyId' in selection
          ? 'no key and no call of a key with this id; give the id, not the name (sidegate keys list)'
          : 'no call with this id'
      writeLine(io.err, `sidegate audit: the log has ${missing}`)
      return 1
    }
    writeLine(io.out, io.out.isTTY ? describeErasure(erasure) : JSON.stringify(erasure))
    return 0
  } finally {
    await store.close()
  }
}

function userKeyOf(path: string): Buffer | null {
  try {
    return readOwnKey(path, USER_KEY_FILE)
  } catch (error) {
    throw new SourceError((error as Error).message, { cause: error })
  }
}

function describeErasure({ erased, entries }: Erasure): string {
  if (entries === 0) return 'Nothing to erase: no exchange and no end user is stored for it.'
  return `Erased ${erased} ${erased === 1 ? 'exchange' : 'exchanges'}; sealed in ${entries} ${entries === 1 ? 'entry' : 'entries'}.`
}

/** Memory of a count of the whole log, whose sums are written in large frames. */
const REBUILD_BYTES = 64 * 1024 ** 2

/** @throws SourceError (rejects) when there is no log, or no memory */
export async function rebuildRollups(config: Config, io: CommandIo): Promise<ExitCode> {
  requireLog(config.data.path)
  const fault = memoryFault(REBUILD_BYTES)
  if (fault !== null) throw new SourceError(fault)
  const store = openConfiguredStore(config)
  const bar = progressBar(io.err, 'counting')
  try {
    const { calls, sinceMs } = await store.rebuildRollups(bar)
    bar(1)
    printRebuilt(calls, sinceMs === 0 ? null : isoTime(sinceMs), io)
    return 0
  } finally {
    await store.close()
  }
}

/** @param since the first hour of which all calls were counted; null for those of the whole log */
export function printRebuilt(calls: number, since: string | null, io: CommandIo): void {
  const of = since === null ? 'of the whole log' : `since ${since}`
  writeLine(io.out, io.out.isTTY ? `Counted ${calls} calls ${of}.` : JSON.stringify({ calls, since }))
}

/** @throws SourceError (rejects) when there is no log */
export async function sealClockTrust(config: Config, io: CommandIo): Promise<ExitCode> {
  requireLog(config.data.path)
  const store = openConfiguredStore(config)
  try {
    await store.trustClock(commandActor())
    writeLine(io.out, io.out.isTTY ? 'Sealed that the clock is right.' : JSON.stringify({ trusted: true }))
    return 0
  } finally {
    await store.close()
  }
}

const REASON = 'begun by hand'

/**
 * Begins a new log. API keys and rules made through the API are carried over. The old log stays in
 * a folder next to the new one.
 * @throws SourceError (rejects) when there is no log, a gateway has it open, or it cannot be read
 */
export async function beginNewLog(path: string, io: CommandIo): Promise<ExitCode> {
  requireLog(path)
  const lock = await hold(path)
  try {
    finishQuarantine(path)
    const { inspection, position } = await inspectLog(path)
    if (inspection.state === 'unknown') throw new SourceError(inspection.reason)
    const reason = inspection.state === 'sound' ? REASON : inspection.reason
    const setAside = inspection.state === 'damaged' ? quarantineStore : succeedStore
    const ended = { ...position, reason, actor: commandActor() }
    const { log, folder, carried } = await setAside(path, ended, systemClock.now(), randomBytes)
    const result = { log, predecessor: position, reason, folder, keys_carried: carried }
    writeLine(
      io.out,
      io.out.isTTY ? `Began log ${log}. The old log is in ${folder}.` : JSON.stringify(result),
    )
    if (!carried)
      writeLine(
        io.err,
        'sidegate audit: API keys and rules made through the API could not be read and are lost',
      )
    return carried ? 0 : 1
  } finally {
    await lock.release()
  }
}

async function hold(path: string) {
  try {
    return await holdDirectory(path)
  } catch (error) {
    if (!(error instanceof DirectoryHeldError)) throw error
    throw new SourceError(error.message, { cause: error })
  }
}

/**
 * umask that keeps the copy private from its first byte. The database library creates files for
 * everybody.
 */
const OWNER_ONLY = 0o077

/**
 * Copies a snapshot of the database and the generated keys; a running gateway is not
 * disturbed. The copy is durable when this resolves, so the original may then be destroyed.
 * @throws SourceError (rejects) when there is no log, or the folder is not empty
 */
export async function compact(path: string, folder: string, io: CommandIo): Promise<ExitCode> {
  const environment = openDirectory(path)
  try {
    makeTarget(folder)
    process.umask(OWNER_ONLY)
    await environment.copyTo(folder)
    const file = join(folder, DATA_FILE)
    // The copy of a copy stays one.
    if (!isCopy(path, recordedIdentity(environment))) {
      await adoptCopy(folder)
      rmSync(join(folder, LOCK_FILE))
    }
    syncToDisk(file)
    for (const name of [SIGNING_KEY_FILE, USER_KEY_FILE, PSEUDONYM_KEY_FILE].filter((one) =>
      existsSync(join(path, one)),
    )) {
      copyFileSync(join(path, name), join(folder, name))
      syncToDisk(join(folder, name))
    }
    syncToDisk(folder)
    const sizes = { from_bytes: environment.size().fileBytes, to_bytes: statSync(file).size }
    writeLine(io.out, io.out.isTTY ? describeCopy(folder, sizes) : JSON.stringify(sizes))
    return 0
  } finally {
    await environment.close()
  }
}

function makeTarget(folder: string): void {
  try {
    if (existsSync(folder) && readdirSync(folder).length > 0)
      throw new Error('it is not empty; choose an empty or a new folder')
    makeFolder(folder)
  } catch (error) {
    throw new SourceError(`${folder} cannot be written: ${(error as Error).message}`, { cause: error })
  }
}

const describeCopy = (folder: string, sizes: { from_bytes: number; to_bytes: number }): string =>
  `Copied ${sizes.from_bytes} bytes to ${sizes.to_bytes} in ${folder}. Stop the gateway before you replace data.path with it.`
