// Answers what sidecars ask of limits: checks it, gathers the requests of some milliseconds for one
// transaction, and gives the same answer to a request that comes twice.

import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { Timers } from '../core/timers.ts'
import {
  type CountedSubject,
  KEY_PARALLEL,
  type LeaseAnswer,
  type LeaseRequest,
  SAME_ANSWER_MS,
} from '../fleet/lease-protocol.ts'
import type { LimitAnswer, LimitItem, LimitLedger, LimitRequest } from '../ledger/limit-ledger.ts'
import type { CountedLimit } from '../ledger/limit-rows.ts'
import type { DeclaredLimit } from '../policy/hub-rules.ts'
import { isForNamespace } from './namespaces.ts'
import type { SidecarIdentity } from './verified-token.ts'

/** Time for which requests are gathered. */
const GATHER_MS: Milliseconds = 4
/** Requests that may wait for a transaction; further ones get status 503. */
const MAXIMUM_WAITING = 5000
/** Limits of one transaction: so many that it ends in a fraction of a second. */
const MAXIMUM_BATCH_ITEMS = 5000
/** Calls at a time that a sidecar may report of a limit that refuses none. */
const MAXIMUM_MONITORED_CALLS = 100_000
/** Answers that are kept for requests that come again. */
const MAXIMUM_ANSWERS = 50_000
/** Interval at which the same refusal is logged again. */
const LOG_MS: Milliseconds = 60_000
const MAXIMUM_LOGGED = 1000

/** Why a part of a request is refused. */
type LeaseRefusal = 'unknown_limit' | 'switched_off' | 'namespace' | 'amount' | 'late_request'

/** The sidecar that asks. */
type Asker = Pick<SidecarIdentity, 'id' | 'namespace'>

/** What a hub has declared of a limit. */
interface HubLimits {
  /** The limit of a count, also of a rule that is switched off; null without one. */
  declared(count: string): DeclaredLimit<{
    readonly enabled: boolean
    readonly namespaces?: readonly string[]
    readonly action?: string
  }> | null
}

export interface LeaseDeskParts {
  readonly ledger: Pick<LimitLedger, 'exchange'>
  readonly rules: HubLimits
  /** Maximum calls at a time of the keys of a line that a namespace has; null without a limit. */
  readonly maxParallelOf: (line: string, namespace: string) => number | null
  readonly timers: Timers
  readonly monotonic: () => Milliseconds
  readonly answered: (result: 'answered' | 'failed') => void
  readonly refused: (reason: LeaseRefusal) => void
  readonly log: (refusal: { sidecar: string; count: string; reason: LeaseRefusal }) => void
}

type FoundLimit = Pick<CountedLimit, 'windowMs' | 'limit'> & {
  readonly isInForce: boolean
  readonly isMonitored: boolean
}

/** One part of a request. */
interface AskedPart {
  readonly amounts: readonly number[]
  /** Whether it asks for something. What was used is taken also of a rule that is switched off. */
  readonly isLent?: boolean
  readonly isOfSlots?: boolean
  readonly change: (item: LimitItem, found: FoundLimit) => LimitItem
}

const NOTHING_ASKED = { settles: [], share: null, usual: 0, ask: null, slots: null }

interface Waiting {
  readonly request: LimitRequest
  resolve(answer: LeaseAnswer): void
  reject(error: unknown): void
}

export class LeaseDesk {
  readonly #parts: LeaseDeskParts
  #waiting: Waiting[] = []
  #timer: unknown = null
  #isRunning = false
  readonly #answers = new Map<
    string,
    { readonly atMs: Milliseconds; readonly answer: Promise<LeaseAnswer> }
  >()
  readonly #logged = new Map<string, Milliseconds>()

  constructor(parts: LeaseDeskParts) {
    this.#parts = parts
  }

  /**
   * Answers a request. Parts of it that are refused have no answer.
   * @param sidecar the one that asks, from its credential
   * @throws GatewayError (rejects) `conflict` for a request that comes late, `overloaded`,
   * `fleet_unavailable`
   */
  answer(sidecar: Asker, request: LeaseRequest): Promise<LeaseAnswer> {
    this.#forgetAnswers()
    const name = `${request.request} ${sidecar.id}`
    const known = this.#answers.get(name)
    if (known !== undefined) return known.answer
    if (this.#waiting.length >= MAXIMUM_WAITING)
      return Promise.reject(new GatewayError('overloaded', 'The hub has too many requests for limits.'))
    const items = this.#itemsOf(sidecar, request)
    const answer = new Promise<LeaseAnswer>((resolve, reject) => {
      this.#waiting.push({
        request: {
          sidecar: sidecar.id,
          request: request.request,
          isFirst: request.first === true,
          items,
        },
        resolve,
        reject,
      })
    })
    answer.then(
      () => this.#parts.answered('answered'),
      () => {
        this.#answers.delete(name)
        this.#parts.answered('failed')
      },
    )
    this.#answers.set(name, { atMs: this.#parts.monotonic(), answer })
    this.#schedule()
    return answer
  }

  #schedule(): void {
    if (this.#isRunning || this.#timer !== null || this.#waiting.length === 0) return
    this.#timer = this.#parts.timers.set(() => {
      this.#timer = null
      void this.#run()
    }, GATHER_MS)
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    const batch = this.#takeBatch()
    try {
      const answers = await this.#parts.ledger.exchange(batch.map(({ request }) => request))
      for (const { request, resolve, reject } of batch) {
        const answer = answers.get(request.sidecar)
        for (const { count } of answer?.refused ?? []) this.#refuse(request.sidecar, count, 'amount')
        if (answer !== undefined) resolve(print(answer))
        else reject(this.#late(request.sidecar))
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    this.#isRunning = false
    this.#schedule()
  }

  /** Takes the next requests, at most one of each sidecar. */
  #takeBatch(): Waiting[] {
    const sidecars = new Set<string>()
    let items = 0
    const batch: Waiting[] = []
    this.#waiting = this.#waiting.filter((one) => {
      const { request } = one
      if (sidecars.has(request.sidecar) || items >= MAXIMUM_BATCH_ITEMS) return true
      sidecars.add(request.sidecar)
      items += request.items.length
      batch.push(one)
      return false
    })
    return batch
  }

  /** What a request says and asks of each limit. */
  #itemsOf({ id, namespace }: Asker, { asks, settles, shares, slots }: LeaseRequest): LimitItem[] {
    const items = new Map<string, LimitItem>()
    const add = (one: CountedSubject, part: AskedPart) => {
      const { count, subject } = one
      const name = `${count}\0${subject}`
      const found = this.#limitOf(one, namespace)
      const refusal = whyRefused(found, part, items.get(name)?.slots != null)
      if (typeof found === 'string' || refusal !== null) {
        this.#refuse(id, count, refusal ?? 'unknown_limit')
        return
      }
      const { windowMs, limit } = found
      const item = items.get(name) ?? { ...NOTHING_ASKED, count, subject, windowMs, limit }
      items.set(name, part.change(item, found))
    }
    for (const { need, held, ...one } of slots) {
      const change = (item: LimitItem, { limit, isMonitored }: FoundLimit) => {
        const most = isMonitored ? Math.max(limit, MAXIMUM_MONITORED_CALLS) : limit
        // What is above it is refused. The sidecar may not know yet that the limit was lowered.
        if (need > limit) this.#refuse(id, one.count, 'amount')
        return { ...item, slots: { need: Math.min(need, limit), held, most } }
      }
      add(one, { amounts: [], isLent: need > 0, isOfSlots: true, change })
    }
    for (const one of settles) {
      const change = (item: LimitItem) => ({ ...item, settles: [...item.settles, one] })
      add(one, { amounts: [one.amount], change })
    }
    for (const { share, usual = 0, ...one } of shares)
      add(one, { amounts: [share], change: (item) => ({ ...item, share, usual }) })
    for (const { need, want, ...one } of asks) {
      const ask = { need, want: Math.max(need, want) }
      add(one, { amounts: [need, want], isLent: true, change: (item) => ({ ...item, ask }) })
    }
    return [...items.values()]
  }

  #limitOf({ count, subject }: CountedSubject, namespace: string): FoundLimit | LeaseRefusal {
    const { maxParallelOf, rules } = this.#parts
    if (count === KEY_PARALLEL) {
      const limit = maxParallelOf(subject, namespace)
      return limit === null ? 'unknown_limit' : { windowMs: 0, limit, isInForce: true, isMonitored: false }
    }
    const found = rules.declared(count)
    if (found === null) return 'unknown_limit'
    const { limit, rule } = found
    if (!isForNamespace(rule.namespaces ?? null, namespace)) return 'namespace'
    const isMonitored = rule.action === 'monitor'
    return { windowMs: limit.windowMs, limit: limit.amount, isInForce: rule.enabled, isMonitored }
  }

  #late(sidecar: string): GatewayError {
    this.#refuse(sidecar, '', 'late_request')
    return new GatewayError('conflict', 'A newer request of this sidecar was answered; send another one.')
  }

  #refuse(sidecar: string, count: string, reason: LeaseRefusal): void {
    const { refused, log, monotonic } = this.#parts
    refused(reason)
    const name = `${reason} ${sidecar}`
    const nowMs = monotonic()
    if (nowMs - (this.#logged.get(name) ?? Number.NEGATIVE_INFINITY) < LOG_MS) return
    if (this.#logged.size >= MAXIMUM_LOGGED) this.#logged.clear()
    this.#logged.set(name, nowMs)
    log({ sidecar, count, reason })
  }

  #forgetAnswers(): void {
    const oldestMs = this.#parts.monotonic() - SAME_ANSWER_MS
    for (const [name, { atMs }] of this.#answers) {
      if (atMs >= oldestMs && this.#answers.size < MAXIMUM_ANSWERS) return
      this.#answers.delete(name)
    }
  }
}

/** @param hasSlots whether the request also says of the limit how many calls run */
function whyRefused(
  found: FoundLimit | LeaseRefusal,
  { amounts, isLent = false, isOfSlots = false }: AskedPart,
  hasSlots: boolean,
): LeaseRefusal | null {
  if (typeof found === 'string') return found
  if ((isOfSlots || hasSlots) !== (found.windowMs === 0)) return 'unknown_limit'
  if (isLent && !found.isInForce) return 'switched_off'
  return amounts.some((amount) => amount > found.limit) ? 'amount' : null
}

function print({ timeMs, lent }: LimitAnswer): LeaseAnswer {
  const answer = { time: timeMs, grants: [] as object[], slots: [] as object[] }
  for (const { item, size, bucket, expiresAtMs, left, resetAtMs, share } of lent) {
    const { count, subject, limit, slots } = item
    const shared = { count, subject, size, expires_at: expiresAtMs, left, limit, share }
    if (slots !== null) answer.slots.push(shared)
    else answer.grants.push({ ...shared, bucket, reset_at: resetAtMs })
  }
  return answer as unknown as LeaseAnswer
}
