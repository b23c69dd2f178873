// A hub that lends limits in memory, and a time that a test moves: clock, timers and network.

import type { Clock } from '../../src/core/clock.ts'
import type { Timers } from '../../src/core/timers.ts'
import { LeaseClient, type LeaseClientParts } from '../../src/fleet/lease-client.ts'
import type { CountedSubject, LeaseAnswer, LeaseRequest } from '../../src/fleet/lease-protocol.ts'
import { Holdings } from '../../src/policy/lease.ts'
import { bucketAt, bucketLength, countsUntil, isLive } from '../../src/policy/limit.ts'
import { type BookedBucket, fitsAt, LimitBook } from '../../src/policy/limit-book.ts'

const START_MS = Date.UTC(2026, 2, 1)

/** Time that only a test moves. */
export class VirtualTime implements Clock, Timers {
  #nowMs = 0
  #next = 0
  readonly #timers = new Map<number, { readonly atMs: number; readonly callback: () => void }>()
  /** Added to the wall time. */
  stepMs = 0

  now(): number {
    return START_MS + this.#nowMs + this.stepMs
  }

  monotonic(): number {
    return this.#nowMs
  }

  set(callback: () => void, delayMs: number): number {
    this.#timers.set(++this.#next, { atMs: this.#nowMs + delayMs, callback })
    return this.#next
  }

  clear(timer: unknown): void {
    this.#timers.delete(timer as number)
  }

  /** Moves the time as of a process that does nothing else meanwhile: no timer runs. */
  stall(ms: number): void {
    this.#nowMs += ms
  }

  /** Moves the time, and runs what is due on the way. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms
    await turns()
    for (;;) {
      const [next] = [...this.#timers].sort(([a, one], [b, other]) => one.atMs - other.atMs || a - b)
      if (next === undefined || next[1].atMs > endMs) break
      this.#timers.delete(next[0])
      this.#nowMs = Math.max(this.#nowMs, next[1].atMs)
      next[1].callback()
      await turns()
    }
    this.#nowMs = endMs
  }
}

/** Lets promises settle. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}

interface Limit {
  readonly limit: number
  /** 0 for calls at a time. */
  readonly windowMs: number
}

export class LeaseHub {
  readonly #time: VirtualTime
  readonly limits = new Map<string, Limit>()
  readonly #buckets = new Map<string, BookedBucket & { readonly name: string }>()
  readonly #shares = new Map<string, { name: string; sidecar: string; share: number }>()
  readonly #slots = new Map<string, { name: string; sidecar: string; size: number }>()
  readonly #newest = new Map<string, number>()
  readonly requests: LeaseRequest[] = []
  guaranteedShare = 0.2
  /** The same of calls at a time. */
  guaranteedSlots = 0
  slotTimeoutMs = 600_000
  /** Time of a request or an answer on its way. */
  delayMs = 2
  isAway = false
  /** Takes requests and answers none. */
  losesAnswers = false
  /** What happens to a message on its way: the time it takes, or that it is lost. */
  fate: () => number | 'lost' = () => this.delayMs

  constructor(time: VirtualTime) {
    this.#time = time
  }

  /** A sidecar of the hub. */
  sidecar(sidecar: string, options: Partial<LeaseClientParts> = {}): LeaseClient {
    return new LeaseClient({
      post: (request, timeoutMs) =>
        new Promise((resolve, reject) => {
          const timer = this.#time.set(() => reject(new Error('lost')), timeoutMs)
          const ended = () => this.#time.clear(timer)
          void this.#carry(sidecar, request).then(resolve, reject).finally(ended)
        }),
      isConnected: () => !this.isAway,
      clock: this.#time,
      timers: this.#time,
      onHubLoss: 'share',
      waitMs: 250,
      firstRequest: 1,
      asked: () => {},
      alone: () => {},
      ...options,
    })
  }

  /** What counts of a limit for a subject. */
  used(count: string, subject: string): number {
    const { windowMs } = this.limits.get(count)!
    const bucketMs = bucketLength(windowMs)
    return [...this.#buckets.values()]
      .filter(({ name, bucket }) => {
        return (
          name === `${count}\0${subject}` && isLive(bucketMs, bucket, bucketAt(bucketMs, this.#time.now()))
        )
      })
      .reduce((sum, { amount }) => sum + amount, 0)
  }

  slots(count: string): number {
    return [...this.#slots.values()]
      .filter(({ name }) => name.startsWith(`${count}\0`))
      .reduce((sum, { size }) => sum + size, 0)
  }

  /** Never ends when the request or the answer is lost. */
  async #carry(sidecar: string, request: LeaseRequest): Promise<string> {
    await this.#pass()
    if (this.isAway) throw new Error('away')
    const answer = this.#answer(sidecar, request)
    if (this.losesAnswers) await new Promise<never>(() => {})
    await this.#pass()
    return JSON.stringify(answer)
  }

  #pass(): Promise<void> {
    const fate = this.fate()
    return new Promise((resolve) => fate !== 'lost' && void this.#time.set(resolve, fate))
  }

  #answer(sidecar: string, request: LeaseRequest): LeaseAnswer {
    if (request.request <= (this.#newest.get(sidecar) ?? 0)) throw new Error('late')
    this.#newest.set(sidecar, request.request)
    this.requests.push(request)
    if (request.first === true)
      for (const [id, one] of this.#slots) if (one.sidecar === sidecar) this.#slots.delete(id)
    const time = this.#time.now()
    const names = new Set(
      [...request.asks, ...request.settles, ...request.shares].map((one) => `${one.count}\0${one.subject}`),
    )
    return {
      time,
      grants: [...names].flatMap((name) => this.#lend(sidecar, name, request)),
      slots: request.slots.flatMap((one) => this.#place(sidecar, one, declaredOf(request, one))),
    }
  }

  #lend(sidecar: string, name: string, request: LeaseRequest): LeaseAnswer['grants'][number][] {
    const [count = '', subject = ''] = name.split('\0')
    const found = this.limits.get(count)
    if (found === undefined || found.windowMs === 0) return []
    const isOf = (one: { readonly count: string; readonly subject: string }) =>
      one.count === count && one.subject === subject
    const { limit, windowMs } = found
    const nowMs = this.#time.now()
    const terms = { limit, windowMs, guaranteedShare: this.guaranteedShare, nowMs }
    const book = new LimitBook(terms)
    this.#enter(book, name, windowMs)
    for (const settle of request.settles.filter(isOf)) book.settle({ sidecar, ...settle })
    const { share: declared, usual } = request.shares.find(isOf) ?? { share: 0 }
    const ask = request.asks.find(isOf)
    const share =
      ask === undefined ? book.lowerShare(sidecar, declared) : book.share(sidecar, declared, usual)
    const granted = ask === undefined ? null : book.grant(sidecar, ask)
    for (const one of book.changedBuckets())
      this.#buckets.set(`${name} ${one.bucket} ${one.sidecar}`, { ...one, name })
    for (const one of book.changedShares())
      this.#shares.set(`${name} ${one.sidecar}`, { name, sidecar: one.sidecar, share: one.share ?? 0 })
    if (granted === null) return []
    const { size, bucket, expiresAtMs: expires_at, left } = granted
    const returns = this.#returns(name, sidecar)
    const ends = returns.map((one) => countsUntil(bucketLength(windowMs), one.bucket))
    const reset_at =
      size < ask!.need
        ? fitsAt(terms, book.free(sidecar), returns, ask!.need - size)
        : Math.max(nowMs, ...ends)
    return [{ count, subject, size, bucket, expires_at, left, limit, reset_at, share: share ?? 0 }]
  }

  /** What a sidecar can get of a limit as buckets leave the window. */
  #returns(name: string, sidecar: string): { bucket: number; amount: number }[] {
    const shares = [...this.#shares.values()].filter((one) => one.name === name)
    const buckets = [...this.#buckets.values()].filter((one) => one.name === name)
    buckets.sort((a, b) => b.bucket - a.bucket)
    const later = new Map<string, number>()
    return buckets.map(({ bucket, amount, sidecar: holder }) => {
      const before = later.get(holder) ?? 0
      later.set(holder, before + amount)
      const share = shares.find((one) => one.sidecar === holder)?.share ?? 0
      const claim = Math.max(share, before + amount) - Math.max(share, before)
      return { bucket, amount: holder === sidecar ? amount : claim }
    })
  }

  #enter(book: LimitBook, name: string, windowMs: number): void {
    const bucketMs = bucketLength(windowMs)
    const current = bucketAt(bucketMs, this.#time.now())
    const live = new Map<string, number>()
    for (const one of this.#buckets.values()) {
      if (one.name !== name || !isLive(bucketMs, one.bucket, current)) continue
      live.set(one.sidecar, (live.get(one.sidecar) ?? 0) + one.amount)
      book.enterBucket(one)
    }
    const shares = new Map(
      [...this.#shares.values()].filter((one) => one.name === name).map((one) => [one.sidecar, one.share]),
    )
    for (const sidecar of new Set([...live.keys(), ...shares.keys()]))
      book.enter(sidecar, { share: shares.get(sidecar) ?? null, isOld: false, live: live.get(sidecar) ?? 0 })
  }

  #place(
    sidecar: string,
    ask: LeaseRequest['slots'][number],
    declared: number | null,
  ): LeaseAnswer['slots'][number][] {
    const { count, subject, held } = ask
    const found = this.limits.get(count)
    if (found === undefined) return []
    const need = Math.min(ask.need, found.limit)
    const name = `${count}\0${subject}`
    const holdings = new Holdings()
    const shares = new Map([...this.#shares].filter(([, one]) => one.name === name))
    for (const one of shares.values()) holdings.set(one.sidecar, { share: one.share, live: 0 })
    for (const one of this.#slots.values())
      if (one.name === name)
        holdings.set(one.sidecar, { share: holdings.of(one.sidecar).share, live: one.size })
    const { share: before } = holdings.of(sidecar)
    holdings.set(sidecar, { share: before, live: held })
    const terms = { limit: found.limit, guaranteedShare: this.guaranteedSlots }
    const told = holdings.share(terms, sidecar, declared ?? before)
    const size = holdings.grantPlaces(found.limit, sidecar, { held, need })
    const { live } = holdings.of(sidecar)
    const ends = need === 0 && held === 0 && declared === 0
    const id = `${name} ${sidecar}`
    if (ends) this.#shares.delete(id)
    else this.#shares.set(id, { name, sidecar, share: holdings.of(sidecar).share })
    if (live > 0) this.#slots.set(id, { name, sidecar, size: live })
    else this.#slots.delete(id)
    const expires_at = this.#time.now() + this.slotTimeoutMs
    const left = holdings.left(found.limit, sidecar)
    return [{ count, subject, size, expires_at, left, limit: found.limit, share: ends ? 0 : told }]
  }
}

/** What a request says of a share; null when it says nothing. */
const declaredOf = ({ shares }: LeaseRequest, { count, subject }: CountedSubject): number | null =>
  shares.find((one) => one.count === count && one.subject === subject)?.share ?? null
