// Runs the transactions of this process one after another. Those that wait become one frame of the
// journal, which this process appends, or sends to the process that holds the journal.

import { setTimeout as pause } from 'node:timers/promises'
import type { Milliseconds } from '../../core/clock.ts'
import { encodeRows, requireRows } from '../journal/frame.ts'
import type { JournalRows } from '../journal/journal-rows.ts'
import { NoHolderError, type Turn, writeThroughHolder } from '../journal/lease.ts'
import { SUB_DATABASES } from '../tables/sub-databases.ts'
import type { Holder } from './holder.ts'

/** Time between two attempts to write, while the journal changes hands. */
const RETRY_MS: Milliseconds = 20
const MAXIMUM_ATTEMPTS = 500

export interface SequencerParts {
  /** The data folder. */
  readonly path: string
  readonly rows: JournalRows
  /** Returns what holds the journal; null when another process holds it. */
  takeHolder(): Holder | null
  /** Makes reads see all rows of any process. */
  refresh(): void
  fault(): Error | null
}

interface WaitingTransaction {
  readonly write: () => unknown
  readonly bytes: number
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** A transaction, or the turn of another process. */
type Task = WaitingTransaction | Turn

const isTransaction = (task: Task): task is WaitingTransaction => 'write' in task

export class Sequencer {
  readonly #parts: SequencerParts
  #tasks: Task[] = []
  #running: Promise<void> | null = null
  #closed = false

  constructor(parts: SequencerParts) {
    this.#parts = parts
  }

  /** Works like `Environment.transaction`. */
  transaction<Result>(write: () => Result, bytes = 0): Promise<Result> {
    if (this.#closed) return Promise.reject(new Error('the store is closed'))
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    this.#add({ write, bytes, resolve: resolve as (value: unknown) => void, reject })
    return promise
  }

  /** Lets another process write when its turn comes. */
  giveTurn(turn: Turn): void {
    if (this.#closed) turn.end(new Error('the store is closed'))
    else this.#add(turn)
  }

  /** Refuses further transactions; resolves when the accepted ones are settled. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#running
  }

  #add(task: Task): void {
    this.#tasks.push(task)
    this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    for (let first = this.#tasks[0]; first !== undefined; first = this.#tasks[0]) {
      if (isTransaction(first)) await this.#commit(this.#takeTransactions())
      else {
        this.#tasks.shift()
        await this.#letWrite(first)
      }
    }
    this.#running = null
  }

  /** Returns the transactions before the next turn. */
  #takeTransactions(): WaitingTransaction[] {
    const end = this.#tasks.findIndex((task) => !isTransaction(task))
    return this.#tasks.splice(0, end < 0 ? this.#tasks.length : end).filter(isTransaction)
  }

  async #commit(transactions: readonly WaitingTransaction[]): Promise<void> {
    try {
      const fault = this.#parts.fault()
      if (fault !== null) throw fault
      const settle = await this.#write(transactions)
      settle()
    } catch (error) {
      this.#parts.rows.take()
      for (const { reject } of transactions) reject(error)
    }
  }

  /** @returns settles the transactions */
  async #write(transactions: readonly WaitingTransaction[]): Promise<() => void> {
    for (let attempt = 1; ; attempt++) {
      const holder = this.#parts.takeHolder()
      try {
        return await (holder === null ? this.#writeThrough(transactions) : this.#append(holder, transactions))
      } catch (error) {
        if (!(error instanceof NoHolderError)) throw error
        if (attempt === MAXIMUM_ATTEMPTS) throw unreachable(error)
        await pause(RETRY_MS)
      }
    }
  }

  async #append(holder: Holder, transactions: readonly WaitingTransaction[]): Promise<() => void> {
    await holder.makeRoom(transactions.reduce((sum, { bytes }) => sum + bytes, 0))
    const settle = this.#stage(transactions)
    const rows = this.#parts.rows.take()
    if (rows.length > 0) await holder.append(encodeRows(rows))
    return settle
  }

  async #writeThrough(transactions: readonly WaitingTransaction[]): Promise<() => void> {
    let settle = () => {}
    await writeThroughHolder(this.#parts.path, () => {
      this.#parts.refresh()
      settle = this.#stage(transactions)
      const rows = this.#parts.rows.take()
      return rows.length === 0 ? null : encodeRows(rows)
    })
    this.#parts.refresh()
    return settle
  }

  /** Runs the transactions. @returns settles them, to be called when their rows are on disk */
  #stage(transactions: readonly WaitingTransaction[]): () => void {
    const settled = transactions.map(({ write, resolve, reject }) => {
      try {
        const value = this.#parts.rows.run(write)
        return () => resolve(value)
      } catch (error) {
        return () => reject(error)
      }
    })
    return () => {
      for (const settle of settled) settle()
    }
  }

  async #letWrite(turn: Turn): Promise<void> {
    try {
      const rows = await turn.rows()
      const fault = this.#parts.fault()
      if (fault !== null) throw fault
      if (rows !== null) {
        requireRows(rows, SUB_DATABASES.length)
        const holder = this.#parts.takeHolder()
        await holder?.makeRoom(rows.length)
        await holder?.append(rows)
      }
      turn.end(null)
    } catch (error) {
      turn.end(error as Error)
    }
  }
}

const unreachable = (cause: Error): Error =>
  new Error(
    `another process holds the journal of the data folder and does not answer at its socket (${cause.message}); use the management API, or stop that process first`,
    { cause },
  )
