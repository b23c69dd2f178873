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
import { type CarriedRows, readCarried, type Whereabouts } from './inspection.ts'
import { INTENTS_FILE } from './intents.ts'

const PREFIX = 'quarantine-'
/** Where the new log is made: whole before the old one goes. */
const NEXT = 'next'
const FOLDER_MODE = 0o700
const ID_RANDOM_BYTES = 16
/** What belongs to one log. Calls that were under way are told of in there as well. */
const FILES = [DATA_FILE, LOCK_FILE, INTENTS_FILE]
/** How `key_created` says that a key is an older log's. */
const CARRIED_SOURCE = 'carried'

export interface Succession {
  /** Where the old log lies. */
  readonly folder: string
  readonly reason: string
  /** Whether keys and rules made through the API could be taken over. */
  readonly carried: boolean
}

/** Folders that logs were set aside in, and that nobody has taken away since. */
export function quarantines(path: string): string[] {
  return readdirSync(path).filter((name) => name.startsWith(PREFIX))
}

/**
 * Begins a new log for the damaged one in a folder, which is set aside in a folder of its own within. Interrupted at any
 * moment, the next start finds the one or the other: see `takeOver`.
 * @param random bytes of the CSPRNG
 */
export async function succeed(
  path: string,
  damage: Whereabouts & { readonly reason: string },
  nowMs: Milliseconds,
  random: (length: number) => Buffer,
): Promise<Succession> {
  const next = join(path, NEXT)
  // What an attempt before this one has left.
  rmSync(next, { recursive: true, force: true })
  mkdirSync(next, { mode: FOLDER_MODE })
  const carried = await readCarried(path)
  const environment = openEnvironment(next)
  const { log, seq, reason } = damage
  environment.initialize(() => {
    beginLog(environment, uuidv7(nowMs, random(ID_RANDOM_BYTES)), nowMs, { log, seq, reason })
    const batch = new Batch(environment.tables, nowMs)
    for (const [name, rows] of Object.entries(carried ?? {}) as [SubDatabase, CarriedRows['keys']][]) {
      for (const [key, value] of rows ?? []) {
        const write = () => environment.tables[name].put(key, value)
        if (name === 'keys') addKey(batch, value, write)
        else write()
      }
    }
    batch.finish()
  })
  await environment.close()
  const folder = setAside(path, nowMs)
  takeOver(path)
  return { folder, reason, carried: carried !== null }
}

/** To be called before a log is looked at: puts a new one in its place whose predecessor is set aside already. */
export function takeOver(path: string): void {
  const made = join(path, NEXT, DATA_FILE)
  const place = join(path, DATA_FILE)
  if (existsSync(place) || !existsSync(made)) return
  renameSync(made, place)
  rmSync(join(path, NEXT), { recursive: true })
}

/** The new log knows every key that it accepts. */
function addKey(batch: Batch, value: Buffer, write: () => void): void {
  const { id, name, revokedAtMs } = readJson<{ id: string; name: string; revokedAtMs: number | null }>(value)
  const named = { key_id: id, key_name: name }
  const draft =
    revokedAtMs === null
      ? { type: 'key_created' as const, ...named, source: CARRIED_SOURCE }
      : { type: 'key_revoked' as const, ...named }
  batch.add({ draft, captured: null, counters: [], write })
}

/** A rename within one folder: the data itself is not touched. The database goes last, so that a crash repeats it. */
function setAside(path: string, nowMs: Milliseconds): string {
  const name = PREFIX + new Date(nowMs).toISOString().replaceAll(/[:.]/g, '-')
  let folder = join(path, name)
  for (let n = 2; existsSync(folder); n++) folder = join(path, `${name}-${n}`)
  mkdirSync(folder, { mode: FOLDER_MODE })
  for (const file of [...FILES].reverse()) {
    if (existsSync(join(path, file))) renameSync(join(path, file), join(folder, basename(file)))
  }
  return folder
}
