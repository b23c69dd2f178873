// Connections to PostgreSQL. Every statement has a time limit, and a lost connection is one error
// that says so. Knows no tables.

import pg from 'pg'
import { parseReceived } from '../chat/strict-json.ts'
import { type Milliseconds, systemClock } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { isoTime } from '../core/time.ts'
import { type ListenEvents, Listening } from './listening.ts'
import { Outage } from './outage.ts'

/** Longest time for a connection, and for a statement. */
const CONNECT_MS: Milliseconds = 5000
const STATEMENT_MS: Milliseconds = 10_000
/** The server ends a transaction in which a hub that hangs holds locks of others. */
const IDLE_IN_TRANSACTION_MS: Milliseconds = 5000
/** Time for the server to say that a statement took too long. */
const CANCEL_MS: Milliseconds = 1000
/** A statement took too long (PostgreSQL Appendix A). */
const CANCELLED = '57014'
/** Codes of a database that answers: a lock that another holds, and a transaction that hung. */
const ANSWERED = new Set<unknown>([CANCELLED, '55P03', '25P03'])
/** A connection that is unused for so long is closed. */
const IDLE_MS: Milliseconds = 60_000
const RETRY_AFTER_SECONDS = '1'

/** Errors of the server that end a connection or refuse one (PostgreSQL Appendix A). */
const UNAVAILABLE = /^(?:08|53|57P|55P03|57014|25P03)/

/** Type numbers of `pg_type`. */
const INT8 = 20
const TIMESTAMPTZ = 1184
const JSONB = 3802

/** Reads 64-bit integers as numbers, times as Unix milliseconds, and JSON with names as written. */
const READERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [INT8, Number],
  [TIMESTAMPTZ, Date.parse],
  [JSONB, parseReceived],
])

/** Reads all other types as the client does by default. */
const TYPES = {
  getTypeParser(type: number, format?: string) {
    const reader = format === 'binary' ? undefined : READERS.get(type)
    return reader ?? pg.types.getTypeParser(type, format as 'text')
  },
} as const

/** Runs statements with values as `$1`, `$2`. */
export interface Queries {
  rows<Row extends object>(statement: string, values?: readonly unknown[]): Promise<Row[]>
}

/** Returns the first of the rows, of a statement that always has one. */
export const onlyRow = async <Row extends object>(rows: Promise<Row[]>): Promise<Row> => {
  const [row] = await rows
  if (row === undefined) throw new Error('a statement returned no row')
  return row
}

export interface DatabaseOptions {
  /** `postgres://user:password@host/database`. */
  readonly url: string
  /** Maximum connections. */
  readonly connections: number
  /** Longest time for a statement; STATEMENT_MS by default. */
  readonly statementMs?: Milliseconds
  /** Shared by all connections to a database; its own by default. */
  readonly outage?: Outage
  /** Reports a connection that failed while it was unused. */
  readonly onError: (error: Error) => void
}

export class Database implements Queries {
  readonly #url: string
  readonly #pool: pg.Pool
  readonly #outage: Outage
  readonly #listeners: Listening[] = []

  constructor({
    url,
    connections,
    onError,
    statementMs = STATEMENT_MS,
    outage = new Outage(systemClock),
  }: DatabaseOptions) {
    this.#url = url
    this.#outage = outage
    this.#pool = new pg.Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: CONNECT_MS,
      idleTimeoutMillis: IDLE_MS,
      statement_timeout: statementMs,
      query_timeout: statementMs + CANCEL_MS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      keepAlive: true,
      application_name: 'sidegate-hub',
      types: TYPES,
    })
    this.#pool.on('error', onError)
    // A connection that is taken reports its end to the statement that uses it.
    this.#pool.on('connect', (client) => client.on('error', () => {}))
  }

  /** @throws GatewayError (rejects) `fleet_unavailable` when the database cannot be reached */
  rows<Row extends object>(statement: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#reached(async () => (await this.#pool.query<Row>(statement, [...values])).rows)
  }

  /**
   * Runs `work` in one transaction: what it wrote is durable when this resolves, and nothing of it
   * is kept when this rejects.
   * @throws what `work` throws (rejects), and as `rows`
   */
  transaction<Result>(work: (queries: Queries) => Promise<Result>): Promise<Result> {
    return this.#reached(async () => {
      const client = await this.#pool.connect()
      const queries: Queries = {
        rows: async (statement, values = []) => (await client.query(statement, [...values])).rows,
      }
      try {
        await client.query('begin')
        const result = await work(queries)
        await commit(client)
        client.release()
        return result
      } catch (error) {
        // A connection whose transaction may still be open serves no other.
        const isOver = await client.query('rollback').then(
          () => true,
          () => false,
        )
        client.release(!isOver)
        throw error
      }
    })
  }

  /** Opens a connection that receives notifications until the database is closed. */
  listen(channels: readonly string[], events: ListenEvents): void {
    this.#listeners.push(new Listening(this.#url, channels, events))
  }

  /** Reports why the database cannot be used, and since when. */
  async #reached<Result>(ask: () => Promise<Result>): Promise<Result> {
    try {
      const result = await ask()
      this.#outage.answered()
      return result
    } catch (error) {
      if (error instanceof GatewayError || !isUnavailable(error)) throw error
      if (!ANSWERED.has((error as { code?: unknown }).code)) this.#outage.failed()
      throw new GatewayError('fleet_unavailable', whyUnavailable(error, this.#outage.sinceMs), {
        headers: { 'retry-after': RETRY_AFTER_SECONDS },
        cause: error,
      })
    }
  }

  /** Closes the connections, once their statements have ended. */
  async close(): Promise<void> {
    await Promise.all([this.#pool.end(), ...this.#listeners.map((one) => one.close())])
  }
}

/** Runs `work` on one connection, and closes it. @throws what `work` throws (rejects) */
export async function withDatabase<Result>(
  url: string,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = new Database({ url, connections: 1, onError: () => {} })
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** @throws GatewayError (rejects) `fleet_unavailable` when it is not known whether it happened */
async function commit(client: pg.PoolClient): Promise<void> {
  try {
    await client.query('commit')
  } catch (error) {
    if (!isUnavailable(error)) throw error
    throw new GatewayError(
      'fleet_unavailable',
      'The database went away while the change was made, which may have happened; look before you send it again.',
      { cause: error },
    )
  }
}

function whyUnavailable(error: unknown, sinceMs: Milliseconds | null): string {
  if ((error as { code?: unknown }).code === CANCELLED)
    return 'The database of the hub took too long; try again, or ask for less: another filter, a shorter time.'
  const since = sinceMs === null ? '' : ` since ${isoTime(sinceMs)}`
  return `The database of the hub cannot be reached${since}; try again.`
}

/** Reports whether an error is one of the connection, and none of a statement. */
function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  return error instanceof pg.DatabaseError
    ? UNAVAILABLE.test(error.code ?? '')
    : code !== undefined || isLost(error)
}

/** The client reports a lost connection in words alone. */
const isLost = ({ message }: Error): boolean =>
  /^(?:Connection terminated|timeout exceeded|Query read timeout|Client was closed|Client has encountered)/i.test(
    message,
  )
