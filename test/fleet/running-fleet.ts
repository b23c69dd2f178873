// A whole fleet on this machine, each part a process on a free port of 127.0.0.1: PostgreSQL, hubs,
// sidecars in front of a stand-in for a provider, which runs in this process.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type StandIn, startStandIn } from '../../src/demo/stand-in-server.ts'
import { migrate } from '../../src/ledger/migrate.ts'
import { newSigningKey } from '../../src/store/files/signingkey.ts'
import { type Api, signIn } from '../hub/fixture.ts'
import { ISSUER, keySetOf, newKey, podClaims, signed } from '../hub/tokens.ts'
import { PostgresServer, run } from '../ledger/postgres-server.ts'
import { fetchInTime, until } from '../process/until.ts'
import { ChildProgram } from './child-program.ts'

const DATABASE = 'sidegate'
const HUB_ROLE = 'sidegate_hub'
const HUB_NAME = 'the hub'
const NAMESPACE = 'shop'
/** A hub trusts a token for a day. */
const TOKEN_SECONDS = 86_400

export interface FleetOptions {
  readonly hubs?: number
  /** Merged into the configuration of each hub. */
  readonly hubConfig?: object
  /** Texts of files beside it, by name. */
  readonly hubFiles?: Readonly<Record<string, string>>
  /** Names of Pods in the namespace `shop`. */
  readonly pods: readonly string[]
  /** Folder of the rules of the sidecars. */
  readonly rules?: string
  readonly maxStaleSeconds: number
}

/** A hub that can be killed and started again at its address. */
export interface FleetHub {
  readonly url: string
  readonly opsUrl: string
  readonly file: string
  child: ChildProgram
}

export interface FleetSidecar {
  /** As hubs list it. */
  readonly name: string
  readonly url: string
  readonly opsUrl: string
  readonly folder: string
  readonly child: ChildProgram
}

export class RunningFleet {
  readonly #options: FleetOptions
  readonly #folder = mkdtempSync(join(tmpdir(), 'sidegate-fleet-'))
  readonly #children = new Set<ChildProgram>()
  /** Signs the tokens of the sidecars, in place of a cluster. */
  readonly #clusterKey = newKey()
  readonly token = randomBytes(18).toString('base64url')
  readonly hubs: FleetHub[] = []
  readonly sidecars: FleetSidecar[] = []
  /** Called when a hub or a sidecar ends by itself. */
  onEnded: (name: string, code: number | string) => void = () => {}
  #postgres: PostgresServer | null = null
  #standIn: StandIn | null = null
  #stopping: Promise<void> | null = null
  readonly #onExit = () => {
    for (const child of this.#children) child.signal('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  constructor(options: FleetOptions) {
    this.#options = options
    process.once('exit', this.#onExit)
  }

  get postgres(): PostgresServer {
    return this.#postgres!
  }

  get upstream(): string {
    return this.#standIn!.baseUrl
  }

  /** URL of the database, as a role. */
  urlAs(role: 'owner' | 'hub'): string {
    return this.postgres.urlOf(DATABASE, role === 'owner' ? this.postgres.owner : HUB_ROLE)
  }

  /** A folder of the fleet, which goes with it. */
  get folder(): string {
    return this.#folder
  }

  /**
   * Starts all parts; resolves when each sidecar is ready. Call `stop` also when it rejects.
   * @throws Error (rejects) that names the part that did not start, with its error output
   */
  async start(): Promise<void> {
    const { hubs = 1, pods } = this.#options
    this.#standIn = await startStandIn()
    this.#postgres = new PostgresServer({ isDurable: true, port: await freePort() })
    await this.#postgres.start()
    await run(this.#postgres.urlOf('postgres', this.#postgres.owner), `create database ${DATABASE}`)
    await migrate(this.urlAs('owner'))
    await this.#postgres.admit(HUB_ROLE)
    const signingKey = newSigningKey()
    for (let number = 0; number < hubs; number++) this.hubs.push(await this.#newHub(number, signingKey))
    this.sidecars.push(...(await Promise.all(pods.map((pod) => this.startSidecar(pod)))))
  }

  /** Signs in at a hub. */
  signIn(hub = this.hubs[0]!): Promise<Api> {
    return signIn(hub.url, this.token)
  }

  /** A token by which a Pod shows who it is. */
  tokenOf(pod: string, namespace = NAMESPACE): Promise<string> {
    const claims = podClaims(Date.now(), { namespace, pod, uid: `uid-of-${pod}` })
    return signed({ ...claims, exp: claims.iat! + TOKEN_SECONDS }, this.#clusterKey)
  }

  async #newHub(number: number, signingKey: string): Promise<FleetHub> {
    const folder = join(this.#folder, `hub-${number}`)
    mkdirSync(folder)
    writeFileSync(join(folder, 'hub.pem'), signingKey, { mode: 0o600 })
    writeFileSync(join(folder, 'jwks.json'), keySetOf(this.#clusterKey))
    const { hubConfig, hubFiles = {} } = this.#options
    for (const [name, text] of Object.entries(hubFiles)) writeFileSync(join(folder, name), text)
    const [hub, ops] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
    const file = join(folder, 'hub.yaml')
    const allow = [{ namespace: '*', serviceAccount: 'web' }]
    writeFileSync(
      file,
      JSON.stringify({
        listen: { hub, ops },
        database: { url: { env: 'SIDEGATE_DATABASE_URL' }, connections: 10 },
        join: { clusters: [{ name: 'prod', issuer: ISSUER, jwks: { file: 'jwks.json' }, allow }] },
        admin: { tokens: [{ name: 'platform', token: { env: 'PLATFORM_TOKEN' }, role: 'admin' }] },
        audit: { signingKey: { file: 'hub.pem' } },
        ...hubConfig,
      }),
    )
    const child = await this.startHub(file)
    return { url: `http://${hub}`, opsUrl: `http://${ops}`, file, child }
  }

  /** Starts a hub. @throws as `start` (rejects) */
  startHub(file: string): Promise<ChildProgram> {
    const env = { SIDEGATE_DATABASE_URL: this.urlAs('hub'), PLATFORM_TOKEN: this.token }
    return this.#run(HUB_NAME, ['hub', '--config', file], env)
  }

  /** Starts a sidecar; resolves when it is ready. @throws as `start` (rejects) */
  async startSidecar(pod: string, namespace = NAMESPACE): Promise<FleetSidecar> {
    const { rules = null, maxStaleSeconds } = this.#options
    const name = `${namespace}/${pod}`
    const folder = join(this.#folder, pod)
    mkdirSync(join(folder, 'rules'), { recursive: true })
    writeFileSync(join(folder, 'rules/rules.yaml'), 'rules: []\n')
    writeFileSync(join(folder, 'token'), await this.tokenOf(pod, namespace), { mode: 0o600 })
    const file = join(folder, 'sidegate.yaml')
    const hubs = this.hubs.map(({ url }) => url)
    writeFileSync(
      file,
      JSON.stringify({
        listen: { gateway: '127.0.0.1:0', ops: '127.0.0.1:0' },
        upstream: { baseUrl: this.upstream },
        rules: { path: rules ?? 'rules' },
        data: { path: 'data' },
        admin: { token: { env: 'SIDEGATE_ADMIN_TOKEN' } },
        fleet: { hubs, token: { file: 'token' }, maxStaleSeconds },
      }),
    )
    const args = ['serve', '--config', file]
    const child = await this.#run(`the sidecar ${name}`, args, { SIDEGATE_ADMIN_TOKEN: this.token })
    const [url = '', opsUrl = ''] = [child.listening['gateway'], child.listening['ops']].map(
      (addresses) => `http://${(addresses as string[])[0]}`,
    )
    let body = ''
    const isReady = async () => {
      const response = await fetchInTime(`${opsUrl}/readyz`)
      body = await response.text()
      return response.ok
    }
    await until(`${name} is ready`, isReady).catch((error: Error) => {
      throw new Error(`${error.message}: ${body}`)
    })
    return { name, url, opsUrl, folder, child }
  }

  async #run(name: string, args: readonly string[], env: Record<string, string>): Promise<ChildProgram> {
    if (this.#stopping !== null) throw new Error(`${name} is not started: the fleet stops`)
    const child = new ChildProgram(name, args, env)
    this.#children.add(child)
    void child.exited.then((code) => {
      this.#children.delete(child)
      if (this.#stopping === null) this.onEnded(name, code)
    })
    return child.ready()
  }

  /** Ends all processes, sidecars first, and removes all files. A second call waits for the first. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    const children = [...this.#children]
    const isHub = ({ name }: ChildProgram) => name === HUB_NAME
    await Promise.all(children.filter((child) => !isHub(child)).map((child) => child.stop()))
    await Promise.all(children.filter(isHub).map((child) => child.stop()))
    await this.#postgres?.stop()
    await this.#standIn?.close()
    process.off('exit', this.#onExit)
    this.#onExit()
  }
}

/** A port of 127.0.0.1 that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
