// A sidecar without a gateway: the client, the memory, the leases and the shipper of a real one over
// real sockets, which can be killed, cut off and kept from reading. Its process is simulated; many live in
// this one.

import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { systemClock } from '../../src/core/clock.ts'
import { fixedSecret } from '../../src/core/secret.ts'
import type { Timers } from '../../src/core/timers.ts'
import { FleetClient } from '../../src/fleet/client.ts'
import { fileCredential } from '../../src/fleet/credential.ts'
import { LeaseClient, REQUESTS_OF_A_PROCESS } from '../../src/fleet/lease-client.ts'
import { Shipper } from '../../src/fleet/shipper.ts'
import { SidecarMemory } from '../../src/fleet/sidecar-memory.ts'
import { DurableRows } from './durable-rows.ts'
import { SimulatedLog } from './simulated-log.ts'

export interface SimulatedOptions {
  /** As hubs list it. */
  readonly name: string
  readonly namespace: string
  readonly token: string
  readonly hubs: readonly string[]
  readonly maxStaleSeconds: number
  readonly random: () => number
  /** Whether logs are sent at all. */
  readonly mayShip: () => boolean
  /** The amount of a limit of the hub, by its count. */
  readonly amountOf: (count: string) => number
  /** It has asked a hub for leases. */
  readonly asked: (result: 'answered' | 'failed') => void
}

/** What calls used of a limit, as it is on disk. */
interface KeptUse {
  readonly count: string
  readonly subject: string
  readonly windowMs: number
  readonly bucket: number
  readonly amount: number
}

/** Time to send the rest of the log after the goodbye. */
const LEAVE_MS = 1000

/** What is wrong with its network. */
type Network = 'well' | 'cut' | 'unread'

/** The life of one simulated process. */
class Life {
  readonly sockets = new Set<Socket>()
  readonly memory: SidecarMemory
  readonly client: FleetClient
  readonly shipper: Shipper
  readonly leases: LeaseClient
  /** Whether the numbers of its requests for leases are kept from the next process. */
  #isNumbered = false
  /** It began after a goodbye, so it refuses the keys of hubs until it has heard one. */
  readonly #beganLeft: boolean
  hasConnected = false
  /** It takes no new calls, as a gateway that drains before its goodbye. */
  isLeaving = false
  isDead = false
  network: Network = 'well'
  problem: string | null = null

  constructor(options: SimulatedOptions, rows: DurableRows, log: SimulatedLog) {
    const { hubs, maxStaleSeconds, token, random, mayShip } = options
    const timers: Timers = {
      set: (callback, delayMs) => setTimeout(() => this.isDead || callback(), delayMs).unref(),
      clear: (timer) => clearTimeout((timer ?? undefined) as NodeJS.Timeout | undefined),
    }
    this.memory = new SidecarMemory(rows, systemClock, maxStaleSeconds)
    this.#beganLeft = this.memory.state.left || this.memory.state.sidecar === null
    this.client = new FleetClient({
      config: { hubs: [...hubs], ca: null, joinToken: null, maxStaleSeconds },
      credential: fileCredential(fixedSecret(token)),
      memory: this.memory,
      clock: systemClock,
      timers,
      erase: async () => {},
      random,
      events: {
        connected: () => {
          this.hasConnected = true
          this.problem = null
          this.leases.connected()
        },
        troubled: (_hub, problem) => {
          this.problem = problem
        },
        reconnecting: () => {},
      },
    })
    this.leases = this.#openLeases(options, timers)
    this.shipper = new Shipper({
      log,
      ca: null,
      isReadable: mayShip,
      hub: () => this.client.hub,
      authorize: async () =>
        this.memory.state.sidecar === null ? null : { authorization: `Bearer ${token}` },
      clock: systemClock,
      timers,
      random,
      events: {
        shipped: () => {},
        troubled: () => {},
        ended: (problem) => {
          log.ended = problem
        },
        leftOut: () => {},
        cosigned: async () => {
          log.cosigned++
        },
      },
    })
  }

  #openLeases({ asked }: SimulatedOptions, timers: Timers): LeaseClient {
    const { memory } = this
    const firstRequest = Math.max(Date.now(), memory.state.nextLeaseRequest)
    memory.update({ nextLeaseRequest: firstRequest + REQUESTS_OF_A_PROCESS })
    return new LeaseClient({
      ...{ clock: systemClock, timers, firstRequest, asked },
      ...{ onHubLoss: 'share', waitMs: 250, alone: () => {} },
      isConnected: () => this.client.isConnected,
      post: (request, timeoutMs) =>
        lives.run(this, async () => {
          this.#isNumbered ||= await memory.save()
          if (!this.#isNumbered) throw new Error('the number of the first request cannot be written')
          return this.client.lease(request, timeoutMs)
        }),
    })
  }

  start(): void {
    this.client.start()
    this.shipper.start()
  }

  get mayBeStale(): boolean {
    return this.#beganLeft && !this.hasConnected
  }

  take(socket: Socket): void {
    this.sockets.add(socket)
    socket.once('close', () => this.sockets.delete(socket))
    // The caller still connects it.
    if (this.isDead || this.network === 'cut') process.nextTick(() => socket.destroy(new Error('cut off')))
    else if (this.network === 'unread') stopReading(socket)
  }

  destroySockets(): void {
    for (const socket of this.sockets) socket.destroy(new Error('cut off'))
  }
}

/** The reader of an answer resumes its socket whenever it wants more. */
function stopReading(socket: Socket): void {
  socket.resume = () => socket
  socket.pause()
}

function goOnReading(socket: Socket): void {
  Reflect.deleteProperty(socket, 'resume')
  if (!socket.destroyed) socket.resume()
}

const lives = new AsyncLocalStorage<Life>()
subscribe('net.client.socket', (message) => {
  lives.getStore()?.take((message as { socket: Socket }).socket)
})

export class SimulatedSidecar {
  readonly #options: SimulatedOptions
  readonly rows: DurableRows
  readonly log: SimulatedLog
  #life: Life | null = null
  #used: readonly KeptUse[] = []
  /** The fault that is under way; null without one. */
  fault: string | null = null

  constructor(options: SimulatedOptions) {
    this.#options = options
    this.rows = new DurableRows(options.random)
    this.log = new SimulatedLog(options.random)
  }

  get name(): string {
    return this.#options.name
  }

  get namespace(): string {
    return this.#options.namespace
  }

  /** What decides calls; null when it takes none. */
  get memory(): SidecarMemory | null {
    const life = this.#life
    return life === null || life.isLeaving ? null : life.memory
  }

  /** What covers calls; null when it takes none. */
  get leases(): LeaseClient | null {
    const life = this.#life
    return life === null || life.isLeaving ? null : life.leases
  }

  get isConnected(): boolean {
    return this.#life?.client.isConnected === true
  }

  get problem(): string | null {
    return this.#life?.problem ?? null
  }

  get isDisturbed(): boolean {
    return this.fault !== null
  }

  /** What it is doing, for a report. */
  describe(): string {
    const { fault, isConnected, memory, problem } = this
    const revision = `revision ${memory?.keys.position?.rev}`
    return [fault ?? 'no fault', isConnected ? 'connected' : `not connected: ${problem}`, revision].join(', ')
  }

  /** Whether it may rightly refuse keys of hubs for their age. */
  get mayBeStale(): boolean {
    return this.#options.maxStaleSeconds < 60 || this.#life?.mayBeStale === true
  }

  /** Starts from what is on disk. */
  start(): void {
    const life = new Life(this.#options, this.rows, this.log)
    this.#life = life
    for (const { windowMs, bucket, amount, ...counted } of this.#used) {
      const state = life.leases.limit(counted, windowMs)!
      state.restore(this.#options.amountOf(counted.count), bucket, amount)
      life.leases.touched(state)
    }
    lives.run(life, () => life.start())
  }

  /** Seals calls, as a process that answers them does. */
  seal(count: number): void {
    if (this.#life === null) return
    this.log.seal(count)
    this.#life.shipper.sealed()
  }

  /** Signs a checkpoint over all entries. */
  sign(): void {
    this.#life?.shipper.signed(this.log.sign())
  }

  /** As kill -9. */
  kill(): void {
    const life = this.#life
    if (life === null) return
    this.#life = null
    life.isDead = true
    this.#keepUse(life)
    this.rows.crash()
    this.log.crash()
    life.destroySockets()
  }

  /** As SIGTERM: takes no more calls, then says goodbye. */
  async leave(): Promise<void> {
    const life = this.#life
    if (life === null) return
    life.isLeaving = true
    await lives.run(life, () => life.leases.stop())
    await lives.run(life, () => life.client.stop())
    await lives.run(life, () => life.shipper.stop(LEAVE_MS, new Promise(() => {})))
    if (this.#life === life) {
      this.#life = null
      this.#keepUse(life)
    }
    life.isDead = true
    life.destroySockets()
  }

  /** What calls used is on disk; leases and shares are not. */
  #keepUse({ leases }: Life): void {
    this.#used = [...leases.limits()].flatMap(({ count, subject, leased }) => {
      leased.giveBack()
      leased.forgetReports([])
      const { windowMs } = leased
      return leased.report(systemClock.monotonic()).map((one) => ({ count, subject, windowMs, ...one }))
    })
  }

  /** Breaks its connections; it may connect again at once. */
  breakConnections(): void {
    this.#life?.destroySockets()
  }

  setNetwork(network: Network): void {
    const life = this.#life
    if (life === null) return
    const before = life.network
    life.network = network
    if (network === 'cut') life.destroySockets()
    if (network === 'unread') for (const socket of life.sockets) stopReading(socket)
    if (before === 'unread' && network === 'well') for (const socket of life.sockets) goOnReading(socket)
  }
}
