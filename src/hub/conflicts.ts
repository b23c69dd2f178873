// Keeps what a sidecar sent that does not fit: stores it once, counts it, and logs it.

import type { ConflictKind } from '../audit/arrival.ts'
import type { Conflict, LogStates } from '../ledger/log-states.ts'
import type { HubMetrics } from '../metrics/hub-metrics.ts'
import type { Logger } from '../pipeline/record/record.ts'

interface ConflictParts {
  readonly states: Pick<LogStates, 'record'>
  readonly logger: Pick<Logger, 'error'>
  readonly metrics: Pick<HubMetrics, 'conflicts'>
}

/** @throws GatewayError (rejects) `fleet_unavailable`: what is sent again is then kept */
export type KeepConflict = (conflict: Conflict) => Promise<void>

/** Returns what keeps conflicts. */
export const keepConflicts =
  ({ states, logger, metrics }: ConflictParts): KeepConflict =>
  async (conflict) => {
    const { kind, log, seq, sidecar } = conflict
    metrics.conflicts.inc({ kind })
    // A line for each request would let a sidecar fill the disk.
    if (await states.record(conflict)) logger.error({ kind, log, seq, sidecar }, WORDS[kind])
  }

/** What the log of the hub says of a conflict. */
const WORDS: Readonly<Record<ConflictKind, string>> = {
  fork: 'a sidecar sent another entry or tree than the one that is stored: it rewrote its log',
  forged: 'a sidecar sent an entry whose hash is not that of its bytes',
  foreign: 'a sidecar sent something to the log of another sidecar',
  gap: 'a sidecar does not send the entry that its log lacks at the hub',
  chain: 'a sidecar sent an entry that does not follow the one that is stored',
  form: 'a sidecar sent an entry of a wrong form',
  checkpoint: 'a sidecar sent a checkpoint that nobody signed who may',
}
