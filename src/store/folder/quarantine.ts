// What happens to a log that cannot be relied on: it is set aside as it is, and a new one begins that says so. Nothing
// is repaired and nothing deleted.

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Milliseconds } from '../../core/clock.ts'
import { uuidv7 } from '../../core/ids.ts'
import { readJson } from '../layout.ts'
import { LOCK_FILE, openEnvironment, type SubDatabase } from '../lmdb.ts'
import { Batch, beginLog } from '../log/batch.ts'
import { DATA_FILE } from './header.ts'
import { type CarriedRows, type LogPosition, readCarriedRows } from './inspection.ts'
import { INTENTS_FILE } from './intents.ts'

const QUARANTINE_PREFIX = 'quarantine-'
/** Where the new log is made: whole before the old one goes. */
const NEW_LOG_FOLDER = 'next'
const FOLDER_MODE = 0o700
const ID_RANDOM_BYTES = 16
/** What belongs to one log. Calls that were under way are told of in there as well. */
const LOG_FILES = [DATA_FILE, LOCK_FILE, INTENTS_FILE]
/** How `key_created` says that a key is an older log's. */
const CARRIED_KEY_SOURCE = 'carried'

export interface QuarantineResult {
  /** Where the old log lies. */
  readonly folder: string
  readonly reason: string
  /** Whether keys and rules made through the API could be taken over. */
  readonly carried: boolean
}

/** Folders that logs were set aside in, and that nobody has taken away since. */
export function listQuarantines(path: string): string[] {
  return readdirSync(path).filter((name) => name.startsWith(QUARANTINE_PREFIX))
}

/**
 * Begins a new log for the damaged one in a folder, which is set aside in a folder of its own within. Interrupted at any
 * moment, the next start finds the one or the other: see `finishQuarantine`.
 * @param random bytes of the CSPRNG
 */
export async function quarantineStore(
  path: string,
  damage: LogPosition & { readonly reason: string },
  nowMs: Milliseconds,
  random: (length: number) => Buffer,
): Promise<QuarantineResult> {
  const next = join(path, NEW_LOG_FOLDER)
  // What an attempt before this one has left.
  rmSync(next, { recursive: true, force: true })
  mkdirSync(next, { mode: FOLDER_MODE })
  const carried = await readCarriedRows(path)
  const environment = openEnvironment(next)
  const { log, seq, reason } = damage
  environment.initialize(() => {
    beginLog(environment, uuidv7(nowMs, random(ID_RANDOM_BYTES)), nowMs, { log, seq, reason })
    const batch = new Batch(environment.tables, nowMs)
    for (const [name, rows] of Object.entries(carried ?? {}) as [SubDatabase, CarriedRows['keys']][]) {
      for (const [key, value] of rows ?? []) {
        const write = () => environment.tables[name].put(key, value)
        if (name === 'keys') sealKey(batch, value, write)
        else write()
      }
    }
    batch.finish()
  })
  await environment.close()
  const folder = moveToQuarantine(path, nowMs)
  finishQuarantine(path)
  return { folder, reason, carried: carried !== null }
}

/** To be called before a log is looked at: puts a new one in its place whose predecessor is set aside already. */
export function finishQuarantine(path: string): void {
  const made = join(path, NEW_LOG_FOLDER, DATA_FILE)
  const place = join(path, DATA_FILE)
  if (existsSync(place) || !existsSync(made)) return
  renameSync(made, place)
  rmSync(join(path, NEW_LOG_FOLDER), { recursive: true })
}

/** The new log knows every key that it accepts. */
function sealKey(batch: Batch, value: Buffer, write: () => void): void {
  const { id, name, revokedAtMs } = readJson<{ id: string; name: string; revokedAtMs: number | null }>(value)
  const named = { key_id: id, key_name: name }
  const draft =
    revokedAtMs === null
      ? { type: 'key_created' as const, ...named, source: CARRIED_KEY_SOURCE }
      : { type: 'key_revoked' as const, ...named }
  batch.add({ draft, captured: null, counters: [], write })
}

/** A rename within one folder: the data itself is not touched. The database goes last, so that a crash repeats it. */
function moveToQuarantine(path: string, nowMs: Milliseconds): string {
  const name = QUARANTINE_PREFIX + new Date(nowMs).toISOString().replaceAll(/[:.]/g, '-')
  let folder = join(path, name)
  for (let n = 2; existsSync(folder); n++) folder = join(path, `${name}-${n}`)
  mkdirSync(folder, { mode: FOLDER_MODE })
  for (const file of [...LOG_FILES].reverse()) {
    if (existsSync(join(path, file))) renameSync(join(path, file), join(folder, basename(file)))
  }
  return folder
}
