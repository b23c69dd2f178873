// The result of the last full verification, in a file of the data folder: commands and the gateway
// write it, and the gateway's metrics show it, also after a restart.

import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseObject } from '../../audit/survey.ts'
import type { Milliseconds } from '../../core/clock.ts'
import type { JsonObject } from '../../core/json.ts'
import { RESULT_FILE } from '../files/result-file.ts'

/** Without content, so that the gateway can read what another user's command wrote. */
const FILE_MODE = 0o644
const MAXIMUM_FILE_BYTES = 4096

export interface VerificationResult {
  readonly ok: boolean
  /** Null when the log could not be read at all. */
  readonly log: string | null
  /** The newest entry that was verified; -1 without one. */
  readonly seq: number
  readonly finishedAtMs: Milliseconds
}

/** Returns the result that a verdict in JSON states. */
export function resultOf({ ok, log, head }: JsonObject, finishedAtMs: Milliseconds): VerificationResult {
  const seq = (head as { readonly seq: number } | null | undefined)?.seq ?? -1
  return { ok: ok === true, log: typeof log === 'string' ? log : null, seq, finishedAtMs }
}

/**
 * Replaces the result in a data folder.
 * @throws the system's error
 */
export function saveResult(path: string, result: VerificationResult): void {
  const file = join(path, RESULT_FILE)
  // Each process writes a draft of its own.
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(result)}\n`, { mode: FILE_MODE })
  renameSync(draft, file)
}

/** Returns the result in a data folder; null if there is none that can be read. */
export function readResult(path: string): VerificationResult | null {
  const file = join(path, RESULT_FILE)
  try {
    const bytes = statSync(file).size <= MAXIMUM_FILE_BYTES ? readFileSync(file) : Buffer.alloc(0)
    const { ok, log, seq, finishedAtMs } = parseObject(bytes) ?? {}
    if (typeof ok !== 'boolean' || !(log === null || typeof log === 'string')) return null
    if (typeof seq !== 'number' || typeof finishedAtMs !== 'number') return null
    return { ok, log, seq, finishedAtMs }
  } catch {
    return null
  }
}
