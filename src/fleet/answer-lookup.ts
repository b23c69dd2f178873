// Asks a hub about stored answers that other sidecars made, and remembers for a moment what it
// said. A call waits for it half a second at most.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { CallKey } from '../core/key-terms.ts'
import type { Timers } from '../core/timers.ts'
import { answerHash, type StoredChange } from '../keys/stored-answer.ts'
import { HubRefusal, HubUnreachable } from './hub-requests.ts'
import {
  keyLineQuery,
  MAXIMUM_ASKED_ANSWERS,
  readClaim,
  readSharedAnswers,
  type SharedAnswer,
  storedPath,
} from './stored-protocol.ts'

/** Longest time that a call waits for what a hub says. */
const MAXIMUM_WAIT_MS: Milliseconds = 500
/** The same of news about answers that this gateway has. */
const MAXIMUM_NEWS_WAIT_MS: Milliseconds = 100
/** Interval of asking for an answer that may be on its way to the hub. */
const AGAIN_MS: Milliseconds = 150
/** Requests at a time, and requests that wait for their turn. */
export const MAXIMUM_ASKS = 8
const MAXIMUM_WAITING_ASKS = 1000
/** Answers that are remembered. */
const MAXIMUM_REMEMBERED = 10_000
/** Time for which an answer, or that there is none, is remembered: others change it meanwhile. */
const FRESH_MS: Milliseconds = 250
/** The same of what does not change: whose an item is, and that an answer was removed. */
const LASTING_MS: Milliseconds = 60_000
/** Time without questions after a hub did not answer, and after one that takes none. */
const AWAY_MS: Milliseconds = 1000
const UNSUPPORTED_MS: Milliseconds = 10_000
/** Statuses of a hub without the path. */
const NO_SUCH_PATH = new Set([404, 405])

export interface AnswerLookupParts {
  /** @throws HubUnreachable, HubRefusal (rejects) */
  readonly get: (path: string, timeoutMs: Milliseconds) => Promise<string>
  /** @throws HubUnreachable, HubRefusal (rejects) */
  readonly post: (path: string, body: object, timeoutMs: Milliseconds) => Promise<string>
  readonly isConnected: () => boolean
  /** Whether a key is one of the hub, which knows the answers of no other. */
  readonly isHubKey: (id: string) => boolean
  readonly clock: Pick<Clock, 'monotonic'>
  readonly timers: Timers
}

/** An answer that a call names. */
export interface NamedAnswer {
  readonly id: string
  /** Whether this gateway knows it, so that the call does not wait for it to arrive. */
  readonly isKnown: boolean
  /** Whether it is only repeated, so that it need not exist. */
  readonly isRepeated: boolean
}

/** What a hub knows of the answers that a call names. */
export interface SharedAnswers {
  of(id: string): SharedAnswer
  /** True when no hub answered. */
  readonly isAway: boolean
}

/** The knowledge of a gateway without a hub. */
export const NOTHING_SHARED: SharedAnswers = { of: () => null, isAway: false }

interface Remembered {
  readonly answer: SharedAnswer
  readonly atMs: Milliseconds
}

/** A named answer, with its hash and the name of what is remembered. */
interface Asked extends NamedAnswer {
  readonly hash: string
  readonly name: string
}

/** The questions of one call. */
interface Questions {
  readonly line: string
  /** Whether a late answer says nothing of the hub: too little time is left for some hubs. */
  readonly isHasty: boolean
  /** When the call no longer waits, by the monotonic clock. */
  readonly endMs: Milliseconds
  /** By id. */
  readonly found: Map<string, SharedAnswer>
}

/** Why a request has no answer. */
type Failure = 'away' | 'unsupported'
type Outcome = 'answered' | Failure

export class AnswerLookup {
  readonly #parts: AnswerLookupParts
  /** By line and hash, the oldest first. */
  readonly #remembered = new Map<string, Remembered>()
  #running = 0
  readonly #waiting: (() => void)[] = []
  /** Until when no hub is asked, and why. */
  #quiet: { readonly untilMs: Milliseconds; readonly why: Failure } | null = null

  constructor(parts: AnswerLookupParts) {
    this.#parts = parts
  }

  /** Returns what a hub says of answers, for the line of a key. Never rejects. */
  async find(key: Pick<CallKey, 'id' | 'line'>, named: readonly NamedAnswer[]): Promise<SharedAnswers> {
    if (named.length === 0 || !this.#parts.isHubKey(key.id)) return NOTHING_SHARED
    const isNews = named.every(({ isKnown }) => isKnown)
    const endMs = this.#nowMs() + (isNews ? MAXIMUM_NEWS_WAIT_MS : MAXIMUM_WAIT_MS)
    const found = new Map<string, SharedAnswer>()
    const shared = (isAway: boolean): SharedAnswers => ({ of: (id) => found.get(id) ?? null, isAway })
    let open = this.#openOf(key.line, named, found)
    for (let isAgain = false; open.length > 0; isAgain = true) {
      const isHasty = isNews || isAgain
      const outcome = await this.#askAll(open, { line: key.line, isHasty, endMs, found })
      if (outcome !== 'answered') return shared(outcome === 'away' && !isAgain)
      open = open.filter(({ id, isKnown, isRepeated }) => !isKnown && !isRepeated && found.get(id) === null)
      if (open.length === 0 || this.#nowMs() + AGAIN_MS >= endMs) break
      await new Promise<void>((resolve) => this.#parts.timers.set(resolve, AGAIN_MS))
    }
    return shared(false)
  }

  /**
   * Claims the tokens of an answer for the entry of one call, over all sidecars.
   * @returns false when another entry has them or will have them; true also when no hub says so
   */
  async claim(key: Pick<CallKey, 'id' | 'line'>, id: string, call: string): Promise<boolean> {
    if (!this.#parts.isHubKey(key.id) || this.#whyQuiet() !== null) return true
    const path = storedPath([answerHash(id).toString('base64url')])
    try {
      const text = await this.#parts.post(path, { key_line: key.line, call }, MAXIMUM_WAIT_MS)
      return readClaim(text) ?? true
    } catch (error) {
      this.#failed(error)
      return true
    }
  }

  /** Remembers what this gateway removed, until the hub knows it. */
  sealed({ line }: Pick<CallKey, 'line'>, changes: readonly StoredChange[]): void {
    for (const { type, id } of changes)
      if (type === 'remove') this.#remember(nameOf(line, answerHash(id).toString('base64url')), 'removed')
  }

  /** Fills in what is remembered. @returns what is left to ask */
  #openOf(line: string, named: readonly NamedAnswer[], found: Map<string, SharedAnswer>): Asked[] {
    const nowMs = this.#nowMs()
    const open: Asked[] = []
    for (const one of named) {
      const hash = answerHash(one.id).toString('base64url')
      const name = nameOf(line, hash)
      const known = this.#remembered.get(name)
      if (known !== undefined && nowMs - known.atMs < lifeOf(known.answer, one))
        found.set(one.id, known.answer)
      else open.push({ ...one, hash, name })
    }
    return open
  }

  async #askAll(open: readonly Asked[], questions: Questions): Promise<Outcome> {
    const parts: (readonly Asked[])[] = []
    for (let from = 0; from < open.length; from += MAXIMUM_ASKED_ANSWERS)
      parts.push(open.slice(from, from + MAXIMUM_ASKED_ANSWERS))
    const outcomes = await Promise.all(parts.map((part) => this.#inTurn(() => this.#ask(part, questions))))
    return outcomes.find((one) => one !== 'answered') ?? 'answered'
  }

  async #inTurn(work: () => Promise<Outcome>): Promise<Outcome> {
    if (this.#running >= MAXIMUM_ASKS) {
      if (this.#waiting.length >= MAXIMUM_WAITING_ASKS) return 'away'
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else this.#running++
    try {
      return await work()
    } finally {
      // The next one has the turn.
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }

  async #ask(asked: readonly Asked[], { line, isHasty, endMs, found }: Questions): Promise<Outcome> {
    const path = storedPath(asked.map(({ hash }) => hash)) + keyLineQuery(line)
    let answers: readonly SharedAnswer[] | null = null
    // One connection that was kept may be closed meanwhile.
    for (let attempt = 1; answers === null; attempt++) {
      const leftMs = Math.ceil(endMs - this.#nowMs())
      const failure = leftMs <= 0 ? 'away' : this.#whyQuiet()
      if (failure !== null) return failure
      try {
        answers = readSharedAnswers(await this.#parts.get(path, leftMs), asked.length)
        if (answers === null) throw new Error('the hub sent no answers')
      } catch (error) {
        const isLate = this.#nowMs() >= endMs
        if (isLate && isHasty) return 'away'
        if (isLate || attempt > 1 || !(error instanceof HubUnreachable)) return this.#failed(error)
      }
    }
    for (const [index, { id, name }] of asked.entries()) {
      found.set(id, answers[index]!)
      this.#remember(name, answers[index]!)
    }
    return 'answered'
  }

  #failed(error: unknown): Failure {
    const isUnsupported = error instanceof HubRefusal && NO_SUCH_PATH.has(error.status)
    const [why, ms] = isUnsupported
      ? (['unsupported', UNSUPPORTED_MS] as const)
      : (['away', AWAY_MS] as const)
    this.#quiet = { why, untilMs: this.#nowMs() + ms }
    return why
  }

  /** Why no hub is asked now; null when one is. */
  #whyQuiet(): Failure | null {
    if (!this.#parts.isConnected()) return 'away'
    return this.#quiet !== null && this.#nowMs() < this.#quiet.untilMs ? this.#quiet.why : null
  }

  #remember(name: string, answer: SharedAnswer): void {
    this.#remembered.delete(name)
    if (this.#remembered.size >= MAXIMUM_REMEMBERED)
      this.#remembered.delete(this.#remembered.keys().next().value!)
    this.#remembered.set(name, { answer, atMs: this.#nowMs() })
  }

  #nowMs(): Milliseconds {
    return this.#parts.clock.monotonic()
  }
}

const nameOf = (line: string, hash: string): string => `${line} ${hash}`

/** Time for which what a hub said may be used. */
function lifeOf(answer: SharedAnswer, { isRepeated }: NamedAnswer): Milliseconds {
  const isLasting = answer === 'removed' || answer === 'foreign' || answer?.isItem === true
  return isLasting || isRepeated ? LASTING_MS : FRESH_MS
}
