// How the log's transactions begin: on the head as it is then, or with the genesis entry where there is none.

import { genesis } from '../../audit/chain.ts'
import type { EntryType, GenesisDraft } from '../../audit/entry.ts'
import { Frontier, leafHash } from '../../audit/merkle.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import { packEntry, u64 } from '../layout.ts'
import type { Environment } from '../lmdb.ts'
import type { Commits } from './appender.ts'
import { Batch, writeLogState } from './batch.ts'

const PROBE_KEY = Buffer.from('probe')
/** A probe asks for this much in one piece: a single page would often fit when no entry does. */
const PROBE_BYTES = 1024 ** 2

export interface CommitEvents {
  /** The entries of a batch are durable. */
  onSealed(types: readonly EntryType[]): void
}

/** Transactions for the appender: one batch on the head as it is when the transaction has begun. */
export function commitsOf(environment: Environment, clock: Clock, events: CommitEvents): Commits<Batch> {
  const { tables } = environment
  return {
    commit: async (work) => {
      const batch = await environment.transaction(() => {
        // Read here and not remembered: another process may have appended in between.
        const begun = new Batch(tables, clock.now())
        work(begun)
        begun.finish()
        return begun
      })
      events.onSealed(batch.sealed)
    },
    probe: async () => {
      await environment.transaction(() => tables.meta.put(PROBE_KEY, Buffer.alloc(PROBE_BYTES)))
      // What it took stays in the file, free for the entries to come.
      await environment.transaction(() => tables.meta.remove(PROBE_KEY))
    },
  }
}

/**
 * Writes the genesis entry; runs inside a transaction.
 * @param log the new log's id, a UUIDv7
 * @param continues the log that this one takes over from
 */
export function beginLog(
  { tables }: Environment,
  log: string,
  nowMs: Milliseconds,
  continues: GenesisDraft['continues'] = null,
): void {
  const { entry, bytes, hash } = genesis(log, { type: 'genesis', product: 'sidegate', continues }, nowMs)
  tables.entries.put(u64(entry.seq), packEntry(hash, bytes))
  const frontier = Frontier.empty()
  frontier.push(leafHash(hash))
  const counts = { firstRequest: 0, nextRequest: 0 }
  writeLogState(tables, { log, seq: entry.seq, hash, frontier: frontier.encoded(), ...counts })
}
