// Releases the log probabilities of a stream. They repeat the text token by token, so each waits
// for its token's text, and all later ones are dropped once the text was redacted.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { dropLogprobsOf, dropTokenIds } from './texts.ts'

/** Progress of a text in characters, and whether anything in it was replaced. */
export interface TextProgress {
  readonly receivedCharacters: number
  readonly sentCharacters: number
  readonly redacted: boolean
}

/** The progress of a text; null for a text that has not begun. */
export type ProgressOf = (choice: number, channel: string) => TextProgress | null

/** Lists of `logprobs`, each named after its text. All other members are dropped. */
const LISTS = ['content', 'refusal'] as const

/** The entry of one token whose text is still held back. */
interface WaitingToken {
  readonly entry: JsonValue
  /** Length of the text up to and including this token. */
  readonly end: number
}

/** Maximum tokens that may wait. A text lags far less, unless the list has no text. */
const MAXIMUM_WAITING = 65_536

/** The waiting tokens of one list, in order. */
class TokenQueue {
  #waiting: WaitingToken[] = []
  /** Index of the first waiting token; earlier ones are released. */
  #first = 0
  #characters = 0
  /** True after an overflow; nothing is released any more. */
  #isTooLong = false

  /**
   * Adds the entries of a chunk. When they do not spell the chunk's text, their text is unknown: it
   * lies after all earlier tokens, so they wait at least until this chunk's text is released.
   * @param text the part of the text in this chunk
   * @param received characters of the text, this part included
   */
  add(entries: readonly JsonValue[], text: string, received: number): void {
    if (entries.length === 0) return
    const start = received - text.length
    const isSpelled = entries.map(tokenOf).join('') === text
    let at = isSpelled ? start : Math.max(start, this.#characters)
    for (const entry of entries) {
      at += tokenLength(entry)
      this.#push({ entry, end: isSpelled ? at : Math.max(at, received) })
    }
    this.#characters = at
  }

  #push(token: WaitingToken): void {
    if (this.#waiting.length - this.#first >= MAXIMUM_WAITING) {
      this.clear()
      this.#isTooLong = true
    }
    if (!this.#isTooLong) this.#waiting.push(token)
  }

  /** Releases the tokens whose text lies within the first `characters` characters. */
  takeUntil(characters: number): JsonValue[] {
    let next = this.#first
    while (next < this.#waiting.length && this.#waiting[next]!.end <= characters) next++
    const taken = this.#waiting.slice(this.#first, next).map(({ entry }) => entry)
    this.#first = next
    if (2 * next >= this.#waiting.length) {
      this.#waiting = this.#waiting.slice(next)
      this.#first = 0
    }
    return taken
  }

  clear(): void {
    this.#waiting = []
    this.#first = 0
  }
}

export class LogprobGate {
  readonly #queues = new Map<string, TokenQueue>()

  /** True once any entry has arrived. */
  get hasTokens(): boolean {
    return this.#queues.size > 0
  }

  /**
   * Replaces the entries in a chunk by those that are safe.
   * @param progress of a choice's text; null when it has none
   * @param textIn the part of the text in this chunk
   * @param finished choices that end with this chunk
   * @returns whether the chunk changed
   */
  apply(
    chunk: JsonObject,
    progress: ProgressOf,
    textIn: (choice: number, channel: string) => string,
    finished: readonly number[],
  ): boolean {
    let changed = dropLogprobsOf(chunk)
    for (const choice of Array.isArray(chunk['choices']) ? chunk['choices'] : []) {
      if (!isObject(choice)) continue
      changed = dropOthers(choice) || changed
      const index = typeof choice['index'] === 'number' ? choice['index'] : 0
      for (const list of LISTS) {
        const text = { progress: () => progress(index, list), here: () => textIn(index, list) }
        changed = this.#applyList(choice, index, list, text, finished.includes(index)) || changed
      }
    }
    return changed
  }

  #applyList(
    choice: JsonObject,
    index: number,
    list: (typeof LISTS)[number],
    text: { readonly progress: () => TextProgress | null; readonly here: () => string },
    last: boolean,
  ): boolean {
    const logprobs = choice['logprobs']
    const added = isObject(logprobs) && Array.isArray(logprobs[list]) ? logprobs[list] : []
    const name = `${index} ${list}`
    let queue = this.#queues.get(name)
    if (queue === undefined && added.length === 0) return false
    if (queue === undefined) {
      queue = new TokenQueue()
      this.#queues.set(name, queue)
    }
    const progress = text.progress()
    if (progress === null || progress.redacted) {
      queue.clear()
      if (added.length > 0) choice['logprobs'] = null
      return added.length > 0
    }
    queue.add(added, text.here(), progress.receivedCharacters)
    const released = queue.takeUntil(last ? Number.POSITIVE_INFINITY : progress.sentCharacters)
    if (released.length === added.length && released.every((entry, i) => entry === added[i])) return false
    choice['logprobs'] = { ...(isObject(logprobs) ? logprobs : {}), [list]: released }
    return true
  }
}

/**
 * Drops members that repeat a text but cannot be held back with it.
 * @returns whether there were any
 */
function dropOthers(choice: JsonObject): boolean {
  const { logprobs } = choice
  let dropped = dropTokenIds(choice)
  for (const part of [choice['delta'], choice['message']])
    if (isObject(part)) dropped = dropLogprobsOf(part) || dropped
  if (!isObject(logprobs)) return dropped
  for (const name of Object.keys(logprobs)) {
    if (logprobs[name] === null || (LISTS as readonly string[]).includes(name)) continue
    delete logprobs[name]
    dropped = true
  }
  return dropped
}

const tokenOf = (entry: JsonValue): string | null =>
  isObject(entry) && typeof entry['token'] === 'string' ? entry['token'] : null

/** An entry without a readable token waits for the end of the choice. */
const tokenLength = (entry: JsonValue): number => tokenOf(entry)?.length ?? Number.POSITIVE_INFINITY
