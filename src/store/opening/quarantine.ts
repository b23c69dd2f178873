// Sets a log aside and begins a new one that refers to it: a damaged log in quarantine, one that is
// not continued here as a predecessor. Repairs and deletes nothing.

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Actor } from '../../core/actor.ts'
import type { Milliseconds } from '../../core/clock.ts'
import { uuidv7 } from '../../core/ids.ts'
import { NO_TERMS } from '../../core/key-terms.ts'
import type { StoredKey } from '../../keys/key-record.ts'
import { sealedTerms } from '../../keys/key-terms-fields.ts'
import { type Environment, openEnvironment } from '../environment/journaled.ts'
import { LOCK_FILE } from '../environment/lmdb.ts'
import { DATA_FILE } from '../files/header.ts'
import { INTENTS_FILE } from '../files/intents.ts'
import { RESULT_FILE } from '../files/result-file.ts'
import { listSegments } from '../journal/journal-reader.ts'
import { Batch, beginLog } from '../log/batch.ts'
import { readJson } from '../tables/layout.ts'
import type { SubDatabase } from '../tables/sub-databases.ts'
import { recordIdentity } from './identity.ts'
import { type CarriedRows, type LogPosition, readCarriedRows } from './inspection.ts'

const QUARANTINE_PREFIX = 'quarantine-'
/** Begins names of folders with intact logs that are not continued: copies, or ended by hand. */
const PREDECESSOR_PREFIX = 'predecessor-'
/** Folder in which the new log is completed before the old one moves. */
const NEW_LOG_FOLDER = 'next'
const FOLDER_MODE = 0o700
const ID_RANDOM_BYTES = 16
/** Files of one log. Intents belong to it, because they refer to its calls. */
const LOG_FILES = [DATA_FILE, LOCK_FILE, INTENTS_FILE, RESULT_FILE]
/** `source` in `key_created` entries for keys of the old log. */
const CARRIED_KEY_SOURCE = 'carried'

/** The log that a new one continues, why it does, and who ended it. */
export type EndedLog = LogPosition & { readonly reason: string; readonly actor: Actor }

export interface QuarantineResult {
  /** Folder of the old log. */
  readonly folder: string
  /** Id of the new log. */
  readonly log: string
  readonly reason: string
  /** Whether the keys and rules of the API were taken over. */
  readonly carried: boolean
}

/** Returns the names of the quarantine folders in a data folder. */
export function listQuarantines(path: string): string[] {
  return readdirSync(path).filter((name) => name.startsWith(QUARANTINE_PREFIX))
}

/** Reports whether a data folder has logs that were set aside, for any reason. */
export const hasEarlierLogs = (path: string): boolean =>
  readdirSync(path).some((name) => name.startsWith(QUARANTINE_PREFIX) || name.startsWith(PREDECESSOR_PREFIX))

/**
 * Quarantines the damaged log of a folder and puts a new log in its place. After a crash at any
 * point, the next start finds the old log or the new one: see `finishQuarantine`.
 * @param random bytes of the CSPRNG
 */
export const quarantineStore = (
  path: string,
  damaged: EndedLog,
  nowMs: Milliseconds,
  random: (length: number) => Buffer,
): Promise<QuarantineResult> => replaceLog(path, damaged, QUARANTINE_PREFIX, nowMs, random)

/** Works like `quarantineStore` for an intact log that is not continued here. */
export const succeedStore = (
  path: string,
  ended: EndedLog,
  nowMs: Milliseconds,
  random: (length: number) => Buffer,
): Promise<QuarantineResult> => replaceLog(path, ended, PREDECESSOR_PREFIX, nowMs, random)

async function replaceLog(
  path: string,
  { log, seq, reason, actor }: EndedLog,
  prefix: string,
  nowMs: Milliseconds,
  random: (length: number) => Buffer,
): Promise<QuarantineResult> {
  const next = join(path, NEW_LOG_FOLDER)
  // Left by an interrupted attempt.
  rmSync(next, { recursive: true, force: true })
  mkdirSync(next, { mode: FOLDER_MODE })
  const carried = existsSync(join(path, DATA_FILE)) ? await readCarriedRows(path) : null
  const environment = openEnvironment(next)
  const newLog = uuidv7(nowMs, random(ID_RANDOM_BYTES))
  environment.initialize(() => {
    beginLog(environment, newLog, nowMs, { log, seq, reason }, actor)
    carryRows(environment, carried ?? {}, actor, nowMs)
  })
  // Moving the file keeps its identity.
  recordIdentity(environment, next)
  await environment.close()
  const folder = moveAside(path, prefix, nowMs)
  finishQuarantine(path)
  return { folder, log: newLog, reason, carried: carried !== null }
}

function carryRows({ tables }: Environment, carried: CarriedRows, actor: Actor, nowMs: Milliseconds): void {
  const batch = new Batch(tables, nowMs)
  for (const [name, rows] of Object.entries(carried) as [SubDatabase, CarriedRows['keys']][]) {
    for (const [key, value] of rows ?? []) {
      const write = () => tables[name].put(key, value)
      if (name === 'keys') sealKey(batch, value, actor, write)
      else write()
    }
  }
  batch.finish()
}

/**
 * Completes an interrupted quarantine: installs the new log if the old one has already moved. Call
 * it before the store is inspected.
 */
export function finishQuarantine(path: string): void {
  const newFile = join(path, NEW_LOG_FOLDER, DATA_FILE)
  const dataFile = join(path, DATA_FILE)
  if (existsSync(dataFile) || !existsSync(newFile)) return
  renameSync(newFile, dataFile)
  rmSync(join(path, NEW_LOG_FOLDER), { recursive: true })
}

/** The new log seals every key that it accepts. */
function sealKey(batch: Batch, value: Buffer, actor: Actor, write: () => void): void {
  const { id, name, revokedAtMs, terms = NO_TERMS } = readJson<StoredKey>(value)
  const named = { key_id: id, key_name: name, actor }
  const draft =
    revokedAtMs === null
      ? { type: 'key_created' as const, ...named, source: CARRIED_KEY_SOURCE, terms: sealedTerms(terms) }
      : { type: 'key_revoked' as const, ...named }
  batch.add({ draft, captured: null, counters: [], write })
}

/**
 * Renames within one folder, without touching the data. The database moves last, so a crash repeats
 * the whole step.
 */
function moveAside(path: string, prefix: string, nowMs: Milliseconds): string {
  const name = prefix + new Date(nowMs).toISOString().replaceAll(/[:.]/g, '-')
  let folder = join(path, name)
  for (let n = 2; existsSync(folder); n++) folder = join(path, `${name}-${n}`)
  mkdirSync(folder, { mode: FOLDER_MODE })
  for (const file of [...listSegments(path), ...[...LOG_FILES].reverse()]) {
    if (existsSync(join(path, file))) renameSync(join(path, file), join(folder, basename(file)))
  }
  return folder
}
