// What a transaction is while it waits, and how those of one frame run.

import type { JournalRows } from '../journal/journal-rows.ts'

/** What the transactions of a group that are in one frame have in common. */
export interface Shared {
  /** Whether a transaction failed after writing some of its rows; then the whole frame fails. */
  readonly torn: boolean
}

/** Transactions that run together where they follow each other in the queue. */
export interface Group<Common extends Shared> {
  /** Reads what the transactions have in common, before the first of them runs. */
  begin(): Common
  /** Writes it, after the last one. */
  finish(common: Common): void
  /** The transactions are on disk. @param bytes as they announced */
  onDurable(common: Common, bytes: number): void
}

/** A transaction that waits, or whose frame is being written. */
export interface Transaction {
  readonly group: Group<Shared> | null
  readonly work: (common: Shared | null) => unknown
  /** Approximate bytes that it stores. */
  readonly bytes: number
  resolve(value: unknown): void
  reject(error: unknown): void
}

export const bytesOf = (transactions: readonly Transaction[]): number =>
  transactions.reduce((sum, { bytes }) => sum + bytes, 0)

/**
 * Runs the transactions of a frame in order. One that throws is undone alone; of a group, one that
 * throws before its first row.
 * @returns settles them, to be called when their rows are on disk
 * @throws the error of a group, whose transactions are undone then
 */
export function runFrame(rows: JournalRows, frame: readonly Transaction[]): () => void {
  const settles: (() => void)[] = []
  for (let at = 0; at < frame.length; ) {
    const first = frame[at++] as Transaction
    const { group } = first
    if (group === null) settles.push(attempt(first, null, (work) => rows.run(work)))
    else {
      const members = [first]
      while (frame[at]?.group === group) members.push(frame[at++] as Transaction)
      settles.push(rows.run(() => runTogether(group, members)))
    }
  }
  return () => {
    for (const settle of settles) settle()
  }
}

function runTogether(group: Group<Shared>, members: readonly Transaction[]): () => void {
  const common = group.begin()
  const settles = members.map((member) => attempt(member, common, (work) => work()))
  group.finish(common)
  return () => {
    for (const settle of settles) settle()
    group.onDurable(common, bytesOf(members))
  }
}

function attempt(
  { work, resolve, reject }: Transaction,
  common: Shared | null,
  run: (work: () => unknown) => unknown,
): () => void {
  try {
    const value = run(() => work(common))
    return () => resolve(value)
  } catch (error) {
    if (common?.torn === true) throw error
    return () => reject(error)
  }
}
