// `sidegate audit new-log`: ends the log in the data directory of a stopped gateway and begins
// another that names it.

import { randomBytes } from 'node:crypto'
import { systemClock } from '../core/clock.ts'
import { DirectoryHeldError, holdDirectory } from '../store/files/lock.ts'
import { inspectLog } from '../store/opening/inspection.ts'
import { finishQuarantine, quarantineStore, succeedStore } from '../store/opening/quarantine.ts'
import { requireLog, SourceError } from '../store/verification/log-source.ts'
import type { ExitCode } from './command.ts'
import { commandActor } from './command-actor.ts'

const REASON = 'begun by hand'

/**
 * Begins a new log. API keys and rules made through the API are carried over. The old log stays in
 * a folder next to the new one.
 * @throws SourceError (rejects) when there is no log, a gateway has it open, or it cannot be read
 */
export async function beginNewLog(path: string): Promise<ExitCode> {
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
    console.log(
      process.stdout.isTTY ? `Began log ${log}. The old log is in ${folder}.` : JSON.stringify(result),
    )
    if (!carried)
      console.error('sidegate audit: API keys and rules made through the API could not be read and are lost')
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
