// The JSON form of a verdict, for the command line and the API.

import type { JsonObject } from '../core/json.ts'
import type { LogVerdict } from './log-verify.ts'

/** Returns the verdict as a JSON object. */
export const verdictObject = (verdict: LogVerdict): JsonObject => ({
  ok: verdict.ok,
  log: verdict.log,
  first_seq: verdict.firstSeq,
  entries: verdict.entries,
  head: verdict.head === null ? null : { seq: verdict.head.seq, hash: verdict.head.hash },
  beginning: verdict.beginning,
  partial: isPartial(verdict),
  root: verdict.root,
  signatures_checked: verdict.signaturesChecked,
  checkpoints_agreeing: { ...verdict.agreeing },
  covered_seq: verdict.coveredSeq,
  uncovered: uncovered(verdict),
  findings: verdict.findings.map((finding) => ({ ...finding })),
  limits: [...verdict.limits],
})

/** Reports whether the verdict is on a part of a log only. */
export const isPartial = ({ beginning, head }: LogVerdict): boolean =>
  beginning === 'unanchored' && head !== null

/**
 * Describes the entries that the holder of the log could change unnoticed; null if there are none.
 */
export function uncovered({ head, coveredSeq }: LogVerdict): string | null {
  if (head === null || coveredSeq === head.seq) return null
  return coveredSeq === null
    ? 'no entry is covered by a checkpoint kept elsewhere'
    : `entries after ${coveredSeq} are covered by no checkpoint kept elsewhere`
}
