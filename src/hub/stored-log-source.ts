// One log of a fleet's database as a source of a verification: entries, checkpoints, and what the
// tables say besides.

import type { DumpedEntry } from '../audit/dump.ts'
import { Frontier } from '../audit/merkle.ts'
import type { Members } from '../audit/plain.ts'
import type { AuditorEvidence, LogSurvey } from '../audit/survey.ts'
import type { LogVerdictOf } from '../cli/hub.ts'
import { differingColumn } from '../ledger/entry-columns.ts'
import { hashText } from '../ledger/hub-log.ts'
import type { StoredEntry, StoredLog, StoredLogs } from '../ledger/stored-logs.ts'
import {
  type LogReader,
  type LogSource,
  missingBeginning,
  type ReadResult,
} from '../store/verification/log-source.ts'
import { verifyLog } from '../store/verification/verification.ts'

/**
 * Verifies every log of a database, one after the other.
 * @param progress receives fractions of 1
 * @throws as StoredLogs (rejects)
 */
export async function verifyLogs(
  logs: StoredLogs,
  evidence: AuditorEvidence,
  progress: (done: number) => void,
): Promise<LogVerdictOf[]> {
  const stored = await logs.list()
  const verdicts: LogVerdictOf[] = []
  for (const [index, log] of stored.entries()) {
    const source = new StoredLogSource(logs, log)
    const verdict = await verifyLog(source, evidence, (done) => progress((index + done) / stored.length))
    verdicts.push({ sidecar: log.sidecar, verdict })
  }
  return verdicts
}

class StoredLogSource implements LogSource {
  readonly #logs: StoredLogs
  /** As it was before the reading. Later entries are read as well. */
  readonly #log: StoredLog
  /** The columns of the entry that is read. */
  #columns: StoredEntry | null = null

  constructor(logs: StoredLogs, log: StoredLog) {
    this.#logs = logs
    this.#log = log
  }

  /** A prune entry whose column says another type is found when it is read. */
  async survey(survey: LogSurvey): Promise<string | null> {
    const { log_id: log } = this.#log
    for (let size = 0; ; ) {
      const rows = await this.#logs.checkpoints(log, size)
      for (const { note } of rows) survey.addCheckpoint(note, null)
      const newest = rows.at(-1)
      if (newest === undefined) break
      size = newest.size
    }
    await this.#each('prune', ({ body }) => {
      survey.addEntry(body)
      return true
    })
    const first = await this.#logs.firstHash(log)
    return first === null ? null : hashText(first)
  }

  async read(reader: LogReader): Promise<string | null> {
    const { seq: last } = this.#log
    await this.#each(null, (row) => {
      this.#columns = row
      reader.progress(Math.min(1, row.seq / Math.max(1, last)))
      const entry: DumpedEntry = { hash: hashText(row.hash), bytes: row.body }
      return reader.entry(entry, row.seq)
    })
    return null
  }

  async #each(type: string | null, take: (row: StoredEntry) => boolean): Promise<void> {
    let from = 0
    for (;;) {
      const rows = await this.#logs.page(this.#log.log_id, from, type)
      if (!rows.every(take)) return
      const newest = rows.at(-1)
      if (newest === undefined) return
      from = newest.seq + 1
    }
  }

  /** Compares the columns, by which entries are found, with what the entry says. */
  checkEntry(seq: number, members: Members): string | null {
    const row = this.#columns
    if (row === null || row.seq !== seq) return null
    if (members.get('log') !== this.#log.log_id) return 'the column log_id differs from the entry'
    const name = differingColumn(row, members)
    return name === null ? null : `the column ${name} differs from the entry`
  }

  matchesStoredNode(): boolean {
    return true
  }

  wasPruned(): boolean {
    return false
  }

  checkWhole({ beginning, firstSeq, head, root }: ReadResult): string | null {
    if (beginning === 'unanchored') return missingBeginning(firstSeq)
    const { seq, hash, frontier } = this.#log
    if (head === null || head.seq < seq)
      return `the entries end at ${head?.seq ?? 'none'}, and log_head knows entry ${seq}`
    if (head.seq > seq) return null
    if (head.hash !== hashText(hash)) return `log_head has another hash of entry ${seq}`
    const stored = Frontier.read(seq + 1, frontier)
      .root()
      .toString('base64')
    return stored === root ? null : 'the tree in log_head is not that of the entries'
  }

  async close(): Promise<void> {}
}
