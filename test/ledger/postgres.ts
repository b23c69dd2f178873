// A PostgreSQL server for tests: from npm, or the one of SIDEGATE_TEST_PG. One server a process, one
// database a test.

import { migrate } from '../../src/ledger/migrate.ts'
import { OWN_SERVER, run, startServer } from './postgres-server.ts'

export { run }

/** A server with databases. */
interface Server {
  /** The URL of a database, as a role. */
  readonly urlOf: (database: string, role: string) => string
  readonly owner: string
}

/** The server that the tester provides; the role of its URL must be able to create roles. */
function ownServer(url: string): Server {
  const urlOf = (database: string, role: string) => {
    const one = new URL(url)
    one.pathname = `/${database}`
    if (role !== one.username) one.username = role
    return one.href
  }
  return { urlOf, owner: new URL(url).username }
}

let server: Promise<Server> | null = null
let databases = 0

/** A database of its own. */
export interface TestDatabase {
  readonly owner: string
  readonly hub: string
}

/** Makes an empty database. */
export async function emptyDatabase(): Promise<TestDatabase> {
  const own = process.env[OWN_SERVER]
  server ??= own === undefined ? startServer({ isDurable: false }) : Promise.resolve(ownServer(own))
  const { urlOf, owner } = await server
  const name = `sidegate_test_${process.pid}_${++databases}`
  await run(urlOf('postgres', owner), `create database ${name}`)
  return { owner: urlOf(name, owner), hub: urlOf(name, 'sidegate_hub') }
}

/** Makes a database with the tables of a fleet. */
export async function fleetDatabase(): Promise<TestDatabase> {
  const database = await emptyDatabase()
  await migrate(database.owner)
  return database
}

/** Ends all connections to a database but its owner's, and refuses others until the function returned. */
export async function takeAway({ owner }: TestDatabase): Promise<() => Promise<unknown>> {
  const name = new URL(owner).pathname.slice(1)
  await run(owner, `alter database ${name} connection limit 0`)
  await run(
    owner,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and usename = 'sidegate_hub'`,
  )
  return () => run(owner, `alter database ${name} connection limit -1`)
}
