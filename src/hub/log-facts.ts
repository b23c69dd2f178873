// What a verdict on a log adds from the tables besides its entries: its state, the months that were
// dropped, and what sidecars sent that does not fit.

import type { ConflictKind } from '../audit/arrival.ts'
import type { LogVerdict } from '../audit/log-verify.ts'
import type { LogFinding } from '../audit/verdict-builder.ts'
import { isoTime } from '../core/time.ts'
import type {
  ConflictTally,
  StoredConflict,
  StoredCut,
  StoredLog,
  StoredLogs,
} from '../ledger/stored-logs.ts'

/** Senders of refused entries that a verdict names. */
const MAXIMUM_NAMED_SENDERS = 20

/**
 * What convicts a log, if the sidecar that owns it sent it. Any other conflict was refused, and
 * anyone with a credential can cause one.
 */
const CONVICTING: Partial<Readonly<Record<ConflictKind, string>>> = {
  fork: 'another entry or tree than the one that is stored',
  chain: 'an entry that does not follow the one before',
  checkpoint: 'a checkpoint that the signer of the log did not sign',
  forged: 'an entry whose hash is not that of its bytes or exchange',
}
const CONVICTING_KINDS = Object.keys(CONVICTING) as ConflictKind[]

const NEXT_STEP =
  'copy the volume of the sidecar unchanged: sidegate audit verify --config on the copy shows which side was changed'

interface LogFacts {
  readonly cuts: readonly StoredCut[]
  /** What the owner of the log sent of CONVICTING_KINDS. */
  readonly conflicts: readonly StoredConflict[]
  readonly refused: readonly ConflictTally[]
}

/** Adds what the database knows of a log besides its entries. @throws as StoredLogs (rejects) */
export async function addFacts(
  verdict: LogVerdict,
  log: StoredLog,
  cuts: readonly StoredCut[],
  logs: StoredLogs,
): Promise<LogVerdict> {
  const { log_id: id, sidecar } = log
  return withFacts(verdict, log, {
    cuts,
    conflicts: sidecar === null ? [] : await logs.conflicts(id, sidecar, CONVICTING_KINDS),
    refused: await logs.refused(id, sidecar, CONVICTING_KINDS, MAXIMUM_NAMED_SENDERS + 1),
  })
}

function withFacts(
  verdict: LogVerdict,
  { log_id: id, state, seq, sidecar, name }: StoredLog,
  { conflicts, cuts, refused }: LogFacts,
): LogVerdict {
  const owner = name ?? sidecar
  const findings: LogFinding[] = [...verdict.findings]
  if (state === 'forked')
    findings.push({
      seq: null,
      reason: `the log is forked: ${owner} has another history of it than the one that is stored, which takes no more entries; ${NEXT_STEP}, and sidegate audit new-log then begins a log that the hubs take`,
    })
  for (const one of conflicts) findings.push({ seq: one.seq, reason: reasonOf(one, owner) })
  const isDropped = cuts.some(({ first_seq: first }) => first === verdict.firstSeq)
  const limits = [...verdict.limits]
  if (isDropped)
    limits.push(
      `entries before ${verdict.firstSeq} were dropped with their months; the row in log_cut is tied to them by checkpoints and the log of the hubs alone`,
    )
  if (state === 'cut' && sidecar !== null)
    limits.push(
      `the log is cut: it has no stop entry, and its sidecar is not heard any more; entries after ${seq} may be lost`,
    )
  limits.push(...refusals(refused, 'to this log what was refused', 'it is not in the log'))
  // The hubs seal a prune entry of their own log.
  const beginning = isDropped && sidecar !== null ? 'dropped' : verdict.beginning
  return { ...verdict, log: verdict.log ?? id, ok: findings.length === 0, beginning, findings, limits }
}

const reasonOf = ({ at, kind }: StoredConflict, owner: string | null): string =>
  `${owner} sent at ${isoTime(at)} ${CONVICTING[kind]} (${kind}); the table conflict has what was sent; ${NEXT_STEP}`

/** Describes what sidecars sent to logs that are not stored. @throws as StoredLogs (rejects) */
export async function strayLimits(logs: StoredLogs): Promise<readonly string[]> {
  const strays = await logs.strays(MAXIMUM_NAMED_SENDERS + 1)
  return refusals(strays, 'to logs that are not stored what was refused', 'it is in no log')
}

function refusals(tallies: readonly ConflictTally[], what: string, meaning: string): string[] {
  const named = tallies
    .slice(0, MAXIMUM_NAMED_SENDERS)
    .map(
      ({ sender, count, kinds }) =>
        `${sender} sent ${what} (${kinds.join(', ')}; ${count} rows in the table conflict); ${meaning}`,
    )
  return tallies.length > named.length ? [...named, `other sidecars sent ${what}, too`] : named
}
