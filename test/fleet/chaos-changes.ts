// Changes of keys at random hubs: sends each until it is answered, and has every answer checked.

import { setTimeout as delay } from 'node:timers/promises'
import { fetchInTime } from '../process/until.ts'
import { type ChaosKey, type ChaosLedger, type FleetAnswer, isAccepted } from './chaos-ledger.ts'
import type { RunningFleet } from './running-fleet.ts'
import { oneOf, weighted } from './seeded.ts'
import type { SimulatedSidecar } from './simulated-sidecar.ts'

const RETRY_MS = 100
/** Longest time for which a change is tried again. */
const LONGEST_TRY_MS = 60_000
/** Longest time that is watched until a revocation is in force. */
const LONGEST_WATCH_MS = 10_000
const WATCH_MS = 2
/** Active keys from which on none is made. */
const MANY_KEYS = 60
const FEW_KEYS = 20
/** Namespaces of the sidecars; keys are for all or for one. */
export const NAMESPACES = ['shop', 'batch'] as const

/** A real sidecar, as calls of the chaos see it. */
export interface CalledSidecar {
  readonly name: string
  url: string
  /** Something is done to it. */
  isDisturbed: boolean
  /** Counts what was done to it. */
  disturbances: number
}

interface ChangeParts {
  readonly fleet: RunningFleet
  readonly cookie: string
  readonly ledger: ChaosLedger
  readonly sidecars: readonly SimulatedSidecar[]
  readonly called: readonly CalledSidecar[]
  readonly random: () => number
}

/** The answer to a change; null when nobody knows whether it was made. */
type Answer = { readonly body: any; readonly tookMs: number; readonly attempts: number } | null

export class ChaosChanges {
  readonly #parts: ChangeParts
  #versions = 0
  /** Time of the answers to revocations that were answered at the first attempt, milliseconds. */
  readonly answersMs: number[] = []
  /** Time from the request until no undisturbed sidecar accepts a revoked key, milliseconds. */
  readonly inForceMs: number[] = []
  readonly counts: Record<string, number> = {}
  /** Answers that said that the database is away, and requests without an answer. */
  unavailable = 0
  unanswered = 0
  calls = 0

  constructor(parts: ChangeParts) {
    this.#parts = parts
  }

  /** Makes a random change. */
  async change(): Promise<void> {
    const { ledger, random } = this.#parts
    const idle = ledger.keys.filter(({ isBusy }) => !isBusy)
    const active = idle.filter(({ isRevoked, endsAtMs }) => !isRevoked && endsAtMs === null)
    const ended = idle.filter(({ isRevoked, endsAtMs }) => !isRevoked && endsAtMs !== null)
    const revoked = idle.filter(({ isRevoked }) => isRevoked)
    const count = active.length + ended.length
    if (active.length === 0) return this.create()
    const kind = weighted(
      {
        create: count > MANY_KEYS ? 0 : count < FEW_KEYS ? 60 : 20,
        label: 25,
        namespaces: 10,
        rotate: count > MANY_KEYS ? 0 : 10,
        revoke: count < FEW_KEYS / 2 ? 10 : 35,
        'revoke again': revoked.length > 0 ? 5 : 0,
      },
      random,
    )
    this.counts[kind] = (this.counts[kind] ?? 0) + 1
    if (kind === 'create') return this.create()
    if (kind === 'label') return this.#relabel(oneOf(active, random))
    if (kind === 'namespaces') return this.#move(oneOf(active, random))
    if (kind === 'rotate') return this.#rotate(oneOf(active, random))
    return this.revoke(oneOf(kind === 'revoke' ? [...active, ...ended] : revoked, random))
  }

  async create(): Promise<void> {
    const { ledger } = this.#parts
    const version = String(++this.#versions)
    const namespaces = this.#someNamespaces()
    const answer = await this.#send('POST', '/keys', {
      ...{ name: `chaos ${version}`, labels: { v: version } },
      ...(namespaces !== null && { namespaces }),
    })
    if (answer === null) return
    const key = ledger.add(answer.body.id, answer.body.key, version, namespaces)
    await this.#settle([key], answer.body.fleet)
  }

  #someNamespaces(): readonly string[] | null {
    const { random } = this.#parts
    return random() < 0.7 ? null : [oneOf(NAMESPACES, random)]
  }

  async #relabel(key: ChaosKey): Promise<void> {
    const version = String(++this.#versions)
    key.isBusy = true
    const answer = await this.#send('PATCH', `/keys/${key.id}`, { labels: { v: version } })
    if (answer === null) return
    key.version = version
    await this.#settle([key], answer.body.fleet)
  }

  async #move(key: ChaosKey): Promise<void> {
    const namespaces = this.#someNamespaces()
    key.isBusy = true
    const answer = await this.#send('PATCH', `/keys/${key.id}`, { namespaces })
    if (answer === null) return
    key.namespaces = namespaces
    await this.#settle([key], answer.body.fleet)
  }

  async #rotate(key: ChaosKey): Promise<void> {
    const { ledger, random } = this.#parts
    key.isBusy = true
    const grace = oneOf([0, 2, 60], random)
    const answer = await this.#send('POST', `/keys/${key.id}/rotate`, { grace_seconds: grace }, 1)
    // A successor that nobody has may exist.
    if (answer === null) return this.revoke(key)
    const { body } = answer
    key.endsAtMs = Date.parse(body.created_at) + grace * 1000
    const successor = ledger.add(body.id, body.key, key.version, key.namespaces)
    await this.#settle([key, successor], body.fleet)
  }

  /** Revokes a key, or asks once more for one that is. */
  async revoke(key: ChaosKey): Promise<void> {
    const wasRevoked = key.isRevoked
    key.isBusy = true
    const watch = wasRevoked ? null : this.#watch(key)
    const answer = await this.#send('DELETE', `/keys/${key.id}`, undefined)
    watch?.()
    if (answer === null) return
    key.isRevoked = true
    if (answer.attempts === 1) this.answersMs.push(answer.tookMs)
    await this.#settle([key], answer.body.fleet)
  }

  /** Looks again and again until no undisturbed sidecar accepts a key that is being revoked. */
  #watch(key: ChaosKey): () => void {
    const { sidecars } = this.#parts
    const startedMs = performance.now()
    let endMs = startedMs + LONGEST_WATCH_MS
    const timer = setInterval(() => {
      const nowMs = performance.now()
      const rest = sidecars.some(
        (one) => one.isConnected && !one.isDisturbed && typeof one.memory?.find(key.sha256) === 'object',
      )
      if (!rest) this.inForceMs.push(nowMs - startedMs)
      if (!rest || nowMs > endMs) clearInterval(timer)
    }, WATCH_MS).unref()
    // What is not in force now is not before long.
    return () => {
      endMs = performance.now() + 1000
    }
  }

  /** Checks the answer everywhere; from then on others may change the keys. */
  async #settle(keys: readonly ChaosKey[], fleet: FleetAnswer | undefined): Promise<void> {
    const { ledger } = this.#parts
    if (fleet === undefined) ledger.violate('an answer says who has it', describeKeys(keys))
    else {
      ledger.answered(keys, fleet)
      await this.#callAll(keys, fleet)
    }
    for (const key of keys) key.isBusy = false
  }

  /** Calls the real sidecars that have confirmed. */
  async #callAll(keys: readonly ChaosKey[], { unconfirmed, unconfirmed_names: names }: FleetAnswer) {
    if (unconfirmed > names.length) return
    await Promise.all(
      this.#parts.called
        .filter((one) => !one.isDisturbed && !names.includes(one.name))
        .flatMap((one) => keys.map((key) => this.#callOne(one, key))),
    )
  }

  async #callOne(sidecar: CalledSidecar, key: ChaosKey): Promise<void> {
    const { ledger } = this.#parts
    const { disturbances, url } = sidecar
    try {
      const expected = isAccepted(key, NAMESPACES[0]) ? 200 : 401
      const response = await fetchInTime(`${url}/v1/models`, {
        headers: { authorization: `Bearer ${key.key}` },
      })
      await response.arrayBuffer()
      ledger.checks++
      this.calls++
      const isNow = isAccepted(key, NAMESPACES[0]) ? 200 : 401
      if (response.status !== expected && response.status !== isNow)
        ledger.violate('a call', `${sidecar.name} answers ${response.status}, not ${expected}: key ${key.id}`)
    } catch (error) {
      if (sidecar.disturbances === disturbances)
        ledger.violate('a call', `${sidecar.name}: ${(error as Error).message}`)
    }
  }

  /** Sends a request to random hubs until one answers. */
  async #send(method: string, path: string, body: object | undefined, maximum = Infinity): Promise<Answer> {
    const { fleet, cookie, random, ledger } = this.#parts
    const endMs = performance.now() + LONGEST_TRY_MS
    for (let attempts = 1; attempts <= maximum; attempts++) {
      const hub = oneOf(fleet.hubs, random)
      const startedMs = performance.now()
      try {
        const response = await fetchInTime(`${hub.url}/api/v1${path}`, {
          method,
          headers: { cookie, 'content-type': 'application/json' },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
        const answer = await response.json()
        if (response.ok) return { body: answer, tookMs: performance.now() - startedMs, attempts }
        if (response.status !== 503) {
          ledger.violate('an answer', `${method} ${path}: ${response.status} ${JSON.stringify(answer)}`)
          return null
        }
        this.unavailable++
      } catch {
        this.unanswered++
      }
      if (performance.now() > endMs) {
        ledger.violate('an answer', `${method} ${path}: none within ${LONGEST_TRY_MS} ms`)
        return null
      }
      await delay(RETRY_MS)
    }
    return null
  }
}

const describeKeys = (keys: readonly ChaosKey[]): string => keys.map(({ id }) => id).join(', ')
