// Runs programs of a mounted image as containers run: with processes, mounts and a network of their
// own, any user and a read-only root.

import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { inTime } from '../process/until.ts'
import { type ImageConfig, run } from './base-image.ts'

/** Networks for documentation (RFC 5737); the first that this machine has not is taken. */
const NETWORKS = ['198.51.100', '203.0.113', '192.0.2']
/** A network of one site (RFC 4193), for each run another. */
const IPV6_NETWORK = `fd5e:61de:9a7e:${(process.pid % 0xffff).toString(16)}:`
const HTTP_MS = 30_000

/** Two hosts: this machine, and one on which the containers run. */
export class Network {
  readonly #name = `sgate${process.pid}`
  readonly #hasIpv6 = existsSync('/proc/net/if_inet6')
  readonly hostAddress: string
  readonly #containerAddress: string

  constructor() {
    const used = Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? [])
    const [free] = NETWORKS.filter((network) => !used.some((one) => one.startsWith(`${network}.`)))
    if (free === undefined) throw new Error(`this machine has addresses in ${NETWORKS.join(', ')}`)
    this.hostAddress = `${free}.1`
    this.#containerAddress = `${free}.2`
  }

  /** Addresses of the containers, as hosts of URLs. */
  get containerAddresses(): readonly string[] {
    return this.#hasIpv6 ? [this.#containerAddress, `[${IPV6_NETWORK}:2]`] : [this.#containerAddress]
  }

  async open(): Promise<void> {
    const inside = ['-n', this.#name]
    await run('ip', 'netns', 'add', this.#name)
    await run('ip', 'link', 'add', this.#name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.#name)
    await run('ip', 'address', 'add', `${this.hostAddress}/30`, 'dev', this.#name)
    await run('ip', ...inside, 'address', 'add', `${this.#containerAddress}/30`, 'dev', 'eth0')
    if (this.#hasIpv6) {
      await run('ip', 'address', 'add', `${IPV6_NETWORK}:1/64`, 'dev', this.#name, 'nodad')
      await run('ip', ...inside, 'address', 'add', `${IPV6_NETWORK}:2/64`, 'dev', 'eth0', 'nodad')
    }
    await run('ip', 'link', 'set', this.#name, 'up')
    for (const device of ['lo', 'eth0']) await run('ip', ...inside, 'link', 'set', device, 'up')
  }

  async close(): Promise<void> {
    if (existsSync(`/run/netns/${this.#name}`)) await run('ip', 'netns', 'delete', this.#name)
  }

  /** The words that start a command in the network of the containers. */
  command(...args: readonly string[]): readonly string[] {
    return ['ip', 'netns', 'exec', this.#name, ...args]
  }
}

export interface Options {
  /** Replaces the command of the image, as the words after its name in `docker run`. */
  readonly args?: readonly string[]
  /** Replaces the entrypoint. */
  readonly entrypoint?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** `UID:GID`; the image's without. */
  readonly user?: string
  /** Folders in memory, as with `docker run --tmpfs`. */
  readonly tmpfs?: readonly string[]
  /** Files of this machine in place of files of the image. */
  readonly files?: Readonly<Record<string, string>>
}

/** Arguments: root, user, folders in memory, pairs of a source and a target, `--`, the program. */
const START = `set -e
root=$1 user=$2; shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do
  if [ "$1" = tmpfs ]; then mount -t tmpfs -o mode=1777 tmpfs "$root$2"; else mount --bind "$1" "$root$2"; fi
  shift 2
done
shift
mount -o remount,bind,ro "$root"
exec chroot --userspec="$user" --groups= "$root" "$@"`

/** A mounted image, with the folders of its volumes. */
export class Containers {
  readonly #root: string
  readonly #config: ImageConfig
  readonly #network: Network
  readonly #volumes: readonly (readonly [folder: string, path: string])[]

  /** @param folder of the volumes, which begin with the owner and mode of the image's folders */
  constructor(root: string, config: ImageConfig, network: Network, folder: string) {
    this.#root = root
    this.#config = config
    this.#network = network
    this.#volumes = Object.keys(config.Volumes).map((path, index) => {
      const volume = join(folder, `volume-${index}`)
      mkdirSync(volume)
      chmodSync(volume, statSync(join(root, path)).mode & 0o7777)
      return [volume, path]
    })
  }

  start(options: Options = {}): Container {
    const { Env, Entrypoint, Cmd, WorkingDir, User } = this.#config
    const { args = Cmd, entrypoint = Entrypoint, env = {}, user = User, tmpfs = [], files = {} } = options
    const mounts = [...tmpfs.map((path) => ['tmpfs', path]), ...this.#volumes, ...Object.entries(files)]
    const given = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    const program = ['/usr/bin/env', '-i', '-C', WorkingDir, ...Env, ...given, ...entrypoint, ...args]
    const isolated = ['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', START, 'start']
    const line = [...isolated, this.#root, user, ...mounts.flat(), '--', ...program]
    const [command = '', ...rest] = this.#network.command(...line)
    return new Container(spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] }))
  }

  /** Runs a program to its end. @returns its exit code and what it printed */
  async runToEnd(options: Options): Promise<{ readonly code: number | null; readonly output: string }> {
    const container = this.start(options)
    const code = await container.ended()
    return { code, output: container.output }
  }
}

export class Container {
  readonly #child: ChildProcess
  readonly #exit: Promise<number | null>
  /** Both streams, as they were read. */
  output = ''

  constructor(child: ChildProcess) {
    this.#child = child
    this.#exit = new Promise((resolve) => child.once('close', resolve))
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (data) => {
        this.output += data
      })
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Signals process 1 of the container, as `docker stop` does. */
  signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    process.kill(Number(first || pid), signal)
  }

  /** Resolves with the exit code; rejects after the deadline. */
  ended(): Promise<number | null> {
    return inTime('the container ends', this.#exit)
  }

  /** Ends it at once if it runs. */
  async kill(): Promise<void> {
    // A process that changed its user no longer ends with unshare. The first one takes all others.
    if (this.isRunning) this.signal('SIGKILL')
    await this.ended()
  }
}

export interface HttpAnswer {
  readonly status: number
  readonly body: string
}

/** Sends a request from this machine. @throws the system's error (rejects) */
export const ask = (
  url: string,
  { headers = {}, body }: { readonly headers?: IncomingHttpHeaders; readonly body?: object } = {},
): Promise<HttpAnswer> =>
  new Promise((resolve, reject) => {
    const sent = request(url, {
      agent: false,
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      signal: AbortSignal.timeout(HTTP_MS),
    })
    sent.once('error', reject)
    sent.once('response', (response) => {
      response
        .toArray()
        .then((pieces) =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(pieces).toString() }),
        )
        .catch(reject)
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
