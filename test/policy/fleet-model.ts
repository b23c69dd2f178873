// A model of sidecars, a hub and the network between them, on a clock of its own: one limit for one
// subject. It drives the functions that lend and hold leases, and notes each use.

import { seededRandom } from '../../src/core/seeded-random.ts'
import { LeasedLimit } from '../../src/policy/leased-limit.ts'
import { bucketAt, bucketLength, isLive, openWindow, reserveTokens } from '../../src/policy/limit.ts'
import { BookClock, type BookedBucket, LimitBook } from '../../src/policy/limit-book.ts'

export interface ModelOptions {
  readonly seed: number
  readonly limit: number
  readonly windowMs: number
  readonly sidecars: number
  readonly guaranteedShare: number
  readonly durationMs: number
  /** Mean time between calls of one sidecar. */
  readonly betweenMs: number
  readonly largestCall: number
  /** Whether all calls come to the first sidecar. */
  readonly isSkewed: boolean
  /** Lost, doubled and late messages, outages, deaths and a clock that is set back. */
  readonly isTroubled: boolean
}

export interface Use {
  readonly atMs: number
  readonly amount: number
}

interface Request {
  readonly number: number
  readonly settles: readonly { readonly bucket: number; readonly amount: number }[]
  readonly declared: number
  readonly usual: number
  readonly ask: { readonly need: number; readonly want: number } | null
}

interface Answer {
  readonly timeMs: number
  readonly size: number
  readonly bucket: number
  readonly expiresAtMs: number
  readonly share: number
}

const WAIT_MS = 250
const LOST_MS = 500
const START_MS = Date.UTC(2026, 0, 31, 23, 59, 0)

/** The hub and its database. */
class ModelHub {
  readonly #options: ModelOptions
  readonly #buckets = new Map<string, BookedBucket>()
  readonly #shares = new Map<string, number>()
  readonly #newest = new Map<string, number>()
  readonly #clock = new BookClock()
  /** Added to the true time: the clock of the database. */
  stepMs = 0

  constructor(options: ModelOptions) {
    this.#options = options
    this.#clock.at(START_MS, START_MS)
  }

  /** @returns null for a request that is older than another one of the sidecar */
  answer(sidecar: string, request: Request, trueMs: number): Answer | null {
    if (request.number <= (this.#newest.get(sidecar) ?? 0)) return null
    this.#newest.set(sidecar, request.number)
    const { limit, windowMs, guaranteedShare } = this.#options
    const newest = [...this.#buckets.values()].reduce((most, { bucket }) => Math.max(most, bucket), -1)
    this.#clock.at(trueMs + this.stepMs, trueMs)
    if (newest >= 0) this.#clock.saw(windowMs, newest)
    const nowMs = this.#clock.at(trueMs + this.stepMs, trueMs)
    const book = new LimitBook({ limit, windowMs, guaranteedShare, nowMs })
    this.#read(book, nowMs)
    for (const settle of request.settles) book.settle({ sidecar, ...settle })
    const share = book.share(sidecar, request.declared, request.usual)
    const granted = request.ask === null ? null : book.grant(sidecar, request.ask)
    for (const one of book.changedBuckets()) this.#buckets.set(`${one.bucket} ${one.sidecar}`, one)
    for (const one of book.changedShares()) this.#shares.set(one.sidecar, one.share ?? 0)
    const none = { size: 0, bucket: 0, expiresAtMs: 0 }
    return { ...none, ...granted, timeMs: nowMs, share }
  }

  #read(book: LimitBook, nowMs: number): void {
    const bucketMs = bucketLength(this.#options.windowMs)
    const current = bucketAt(bucketMs, nowMs)
    const live = new Map<string, number>()
    for (const [name, one] of this.#buckets) {
      if (isLive(bucketMs, one.bucket, current)) {
        live.set(one.sidecar, (live.get(one.sidecar) ?? 0) + one.amount)
        book.enterBucket(one)
      } else this.#buckets.delete(name)
    }
    for (const sidecar of new Set([...live.keys(), ...this.#shares.keys()]))
      book.enter(sidecar, {
        share: this.#shares.get(sidecar) ?? null,
        isOld: false,
        live: live.get(sidecar) ?? 0,
      })
  }
}

interface Waiting {
  readonly amount: number
  readonly untilMs: number
}

class ModelSidecar {
  readonly name: string
  readonly uses: Use[] = []
  /** What the network carries for it, in order of time. */
  #limit: LeasedLimit
  #number = 0
  #waiting: Waiting[] = []
  #sentMs: number | null = null
  #sentSettles: Request['settles'] = []
  #offset: { earliest: number; latest: number } | null = null
  #lastAskMs = Number.NEGATIVE_INFINITY
  #lastSize = 0
  /** What its calls need on average. */
  #usual = 0
  #calls = 0
  readonly #windowMs: number
  isFrozenUntilMs = 0

  constructor(name: string, windowMs: number) {
    this.name = name
    this.#windowMs = windowMs
    this.#limit = new LeasedLimit(windowMs)
  }

  call(amount: number, nowMs: number): void {
    this.#calls = Math.min(8, this.#calls + 1)
    this.#usual += (amount - this.#usual) / this.#calls
    if (this.#admit(amount, nowMs)) return
    this.#waiting.push({ amount, untilMs: nowMs + WAIT_MS })
  }

  /** Dies and starts again: what its calls used is known, its leases and its share are not. */
  restart(nowMs: number): void {
    const after = new LeasedLimit(this.#windowMs)
    this.#limit.giveBack()
    this.#limit.forgetReports([])
    for (const { bucket, amount } of this.#limit.report(nowMs)) after.charge(bucket, amount)
    this.#limit = after
    this.#waiting = []
    this.#sentMs = null
    this.#number += 1000
  }

  /** Returns a request to send, if there is something to say. */
  step(nowMs: number): Request | null {
    const late = this.#waiting.filter(({ untilMs }) => untilMs <= nowMs)
    this.#waiting = this.#waiting.filter(({ untilMs }) => untilMs > nowMs)
    for (const { amount } of late) this.#useShare(amount, nowMs)
    if (this.#sentMs !== null && nowMs - this.#sentMs > LOST_MS) {
      this.#limit.forgetReports([])
      this.#sentMs = null
    }
    if (this.#sentMs !== null) return null
    const settles = this.#limit.report(nowMs)
    const need = this.#waiting.reduce((sum, { amount }) => sum + amount, 0)
    if (need === 0 && settles.length === 0) return null
    this.#sentMs = nowMs
    this.#sentSettles = settles
    const isSoon = nowMs - this.#lastAskMs < 1000
    if (need > 0) this.#lastAskMs = nowMs
    const want = Math.max(need, isSoon ? 2 * this.#lastSize : 0)
    const ask = need === 0 ? null : { need, want }
    return { number: ++this.#number, settles, declared: this.#limit.share, usual: this.#usual, ask }
  }

  take(request: Request, answer: Answer | null, nowMs: number): void {
    if (this.#sentMs === null || request.number !== this.#number) return
    const sentMs = this.#sentMs
    this.#sentMs = null
    if (answer === null) return
    this.#offset = {
      earliest: Math.max(this.#offset?.earliest ?? -Infinity, answer.timeMs - nowMs),
      latest: answer.timeMs - sentMs,
    }
    this.#limit.reported(this.#sentSettles, answer.timeMs)
    this.#limit.share = answer.share
    const { bucket, expiresAtMs, timeMs, size } = answer
    this.#lastSize = size
    if (size > 0) this.#limit.add({ bucket, size, endMs: sentMs + expiresAtMs - timeMs })
    const waiting = this.#waiting
    this.#waiting = []
    for (const { amount } of waiting) this.#admit(amount, nowMs)
  }

  #admit(amount: number, nowMs: number): boolean {
    const taken = this.#limit.take(amount, nowMs)
    if (taken !== null) this.uses.push({ atMs: nowMs, amount })
    return taken !== null
  }

  #useShare(amount: number, nowMs: number): void {
    if (this.#admit(amount, nowMs) || this.#offset === null) return
    const time = { earliestMs: nowMs + this.#offset.earliest, latestMs: nowMs + this.#offset.latest }
    if (this.#limit.takeShare(amount, time, nowMs) !== null) this.uses.push({ atMs: nowMs, amount })
  }
}

interface Message {
  readonly atMs: number
  deliver(nowMs: number): void
}

/** Runs the model. @returns every use, and the calls that came */
export function runModel(options: ModelOptions): { readonly uses: Use[]; readonly calls: Use[] } {
  const random = seededRandom(options.seed)
  const hub = new ModelHub(options)
  const sidecars = Array.from(
    { length: options.sidecars },
    (_, n) => new ModelSidecar(`sidecar ${n}`, options.windowMs),
  )
  const calls: Use[] = []
  let messages: Message[] = []
  const { isTroubled } = options
  const delay = () => (isTroubled && random() < 0.05 ? random() * 900 : 1 + random() * 4)
  const isLost = () => isTroubled && random() < 0.05
  let outageUntilMs = 0
  const send = (sidecar: ModelSidecar, request: Request, nowMs: number) => {
    const times = isTroubled && random() < 0.1 ? 2 : 1
    for (let copy = 0; copy < times; copy++) {
      if (isLost()) continue
      const arrives = (atMs: number) => {
        if (atMs < outageUntilMs) return
        const answer = hub.answer(sidecar.name, request, atMs)
        if (isLost()) return
        messages.push({
          atMs: atMs + delay(),
          deliver: (laterMs) => sidecar.take(request, answer, laterMs),
        })
      }
      messages.push({ atMs: nowMs + delay(), deliver: arrives })
    }
  }
  const nextCalls = sidecars.map(() => START_MS)
  for (let nowMs = START_MS; nowMs < START_MS + options.durationMs; nowMs += 2) {
    if (isTroubled && random() < 0.0005) outageUntilMs = nowMs + random() * 2 * options.windowMs
    if (isTroubled && random() < 0.0005) hub.stepMs = random() < 0.5 ? 0 : -random() * 300_000
    const due = messages.filter(({ atMs }) => atMs <= nowMs)
    messages = messages.filter(({ atMs }) => atMs > nowMs)
    for (const message of due) message.deliver(nowMs)
    sidecars.forEach((sidecar, n) => {
      if (isTroubled && random() < 0.0002) sidecar.restart(nowMs)
      if (isTroubled && random() < 0.0002) sidecar.isFrozenUntilMs = nowMs + random() * 2 * options.windowMs
      if (sidecar.isFrozenUntilMs > nowMs) return
      while (nextCalls[n]! <= nowMs && (n === 0 || !options.isSkewed)) {
        nextCalls[n]! += random() * 2 * options.betweenMs
        const amount = 1 + Math.floor(random() * options.largestCall)
        calls.push({ atMs: nowMs, amount })
        sidecar.call(amount, nowMs)
      }
      const request = sidecar.step(nowMs)
      if (request !== null) send(sidecar, request, nowMs)
    })
  }
  const uses = sidecars.flatMap((one) => one.uses).sort((a, b) => a.atMs - b.atMs)
  return { uses, calls }
}

/** What one process admits of calls. */
export function admittedByOne(calls: readonly Use[], limitTokens: number, windowMs: number): number {
  const window = openWindow(windowMs)
  let sum = 0
  for (const { atMs: nowMs, amount: tokens } of calls) {
    const request = { limitTokens, tokens, unlimitedChoices: 0, expectedAnswer: 0, nowMs, enforced: true }
    if (reserveTokens(window, request).allowed) sum += tokens
  }
  return sum
}

/** What is used in each window of a length that ends with a use. */
function windowSums(uses: readonly Use[], windowMs: number): number[] {
  let sum = 0
  let first = 0
  return uses.map(({ atMs, amount }) => {
    sum += amount
    while (uses[first]!.atMs <= atMs - windowMs) sum -= uses[first++]!.amount
    return sum
  })
}

/** The most that is used in any window of a length, wherever it begins. */
export const mostInWindow = (uses: readonly Use[], windowMs: number): number =>
  windowSums(uses, windowMs).reduce((most, sum) => Math.max(most, sum), 0)

/** Number of windows in which more than a limit is used. */
export const windowsOver = (uses: readonly Use[], windowMs: number, limit: number): number =>
  windowSums(uses, windowMs).filter((sum) => sum > limit).length
