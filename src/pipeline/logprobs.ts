// Log probabilities repeat the text token by token: in a stream they leave with the text they repeat, and no more of
// them leave once something in that text was replaced.

import { dropTokenIds } from '../chat/texts.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'

/** How far a text has left: characters sent, and whether they are still the upstream's own. */
export interface TextProgress {
  readonly sentCharacters: number
  readonly redacted: boolean
}

/** The lists of a choice's `logprobs`, each named after the text it repeats. Whatever else stands there is left out. */
const LISTS = ['content', 'refusal'] as const

/** One token's entry, held until its text has left. */
interface Held {
  readonly entry: JsonValue
  /** Characters of the text up to and with this token. */
  readonly end: number
}

/** Tokens that may wait for their text; it is never that far behind, unless there is none. */
const MAX_WAITING = 65_536

/** The entries of one list, in order. */
class TokenQueue {
  #waiting: Held[] = []
  /** Of those held: the ones before it have left. */
  #first = 0
  #characters = 0
  /** None leaves any more. */
  #isTooLong = false

  add(entry: JsonValue): void {
    this.#characters += tokenLength(entry)
    if (this.#waiting.length - this.#first >= MAX_WAITING) {
      this.clear()
      this.#isTooLong = true
    }
    if (!this.#isTooLong) this.#waiting.push({ entry, end: this.#characters })
  }

  /** Those whose text is among the first `characters`. */
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

  /** Whether there have been any so far. */
  get held(): boolean {
    return this.#queues.size > 0
  }

  /**
   * Leaves in a chunk what may leave with it.
   * @param progress of a choice's text; null when it has none
   * @param finished choices that end with this chunk
   * @returns whether the chunk was changed
   */
  apply(
    chunk: JsonObject,
    progress: (choice: number, channel: string) => TextProgress | null,
    finished: readonly number[],
  ): boolean {
    let changed = false
    for (const choice of Array.isArray(chunk['choices']) ? chunk['choices'] : []) {
      if (!isObject(choice)) continue
      changed = dropOthers(choice) || changed
      const index = typeof choice['index'] === 'number' ? choice['index'] : 0
      for (const list of LISTS) {
        changed =
          this.#applyList(choice, index, list, () => progress(index, list), finished.includes(index)) ||
          changed
      }
    }
    return changed
  }

  #applyList(
    choice: JsonObject,
    index: number,
    list: (typeof LISTS)[number],
    progressOf: () => TextProgress | null,
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
    for (const entry of added) queue.add(entry)
    const progress = progressOf()
    if (progress === null || progress.redacted) {
      queue.clear()
      if (added.length > 0) choice['logprobs'] = null
      return added.length > 0
    }
    const released = queue.takeUntil(last ? Number.POSITIVE_INFINITY : progress.sentCharacters)
    if (released.length === added.length && released.every((entry, i) => entry === added[i])) return false
    choice['logprobs'] = { ...(isObject(logprobs) ? logprobs : {}), [list]: released }
    return true
  }
}

/** Members that repeat a text in a way that cannot be held back with it. @returns whether there were any */
function dropOthers(choice: JsonObject): boolean {
  const { logprobs, delta } = choice
  let dropped = dropTokenIds(choice)
  if (isObject(delta) && delta['logprobs'] != null) {
    delta['logprobs'] = null
    dropped = true
  }
  if (!isObject(logprobs)) return dropped
  for (const name of Object.keys(logprobs)) {
    if (logprobs[name] === null || (LISTS as readonly string[]).includes(name)) continue
    delete logprobs[name]
    dropped = true
  }
  return dropped
}

/** An entry without a readable token cannot be told to have left. */
const tokenLength = (entry: JsonValue): number =>
  isObject(entry) && typeof entry['token'] === 'string' ? entry['token'].length : Number.POSITIVE_INFINITY
