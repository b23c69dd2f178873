// Log probabilities repeat the text token by token: in a stream they leave with the text they repeat, and no more of
// them leave once something in that text was replaced.

import { dropLogprobsOf, dropTokenIds } from '../../chat/texts.ts'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'

/** How far a text has come and left, in characters, and whether what has left is still the upstream's own. */
export interface TextProgress {
  readonly receivedCharacters: number
  readonly sentCharacters: number
  readonly redacted: boolean
}

/** The lists of a choice's `logprobs`, each named after the text it repeats. Whatever else stands there is left out. */
const LISTS = ['content', 'refusal'] as const

/** One token's entry, held until its text has left. */
interface WaitingToken {
  readonly entry: JsonValue
  /** Characters of the text up to and with this token. */
  readonly end: number
}

/** Tokens that may wait for their text; it is never that far behind, unless there is none. */
const MAX_WAITING = 65_536

/** The entries of one list, in order. */
class TokenQueue {
  #waiting: WaitingToken[] = []
  /** Of those held: the ones before it have left. */
  #first = 0
  #characters = 0
  /** None leaves any more. */
  #isTooLong = false

  /**
   * Takes the entries of a chunk. Where they do not spell the text beside them, what they are of is not known: then they
   * are of none that came before it, and wait at least for all that is here.
   * @param text what came with them
   * @param received characters of the text up to and with that
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
    if (this.#waiting.length - this.#first >= MAX_WAITING) {
      this.clear()
      this.#isTooLong = true
    }
    if (!this.#isTooLong) this.#waiting.push(token)
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
  get hasTokens(): boolean {
    return this.#queues.size > 0
  }

  /**
   * Leaves in a chunk what may leave with it.
   * @param progress of a choice's text; null when it has none
   * @param textIn what the chunk has brought of it
   * @param finished choices that end with this chunk
   * @returns whether the chunk was changed
   */
  apply(
    chunk: JsonObject,
    progress: (choice: number, channel: string) => TextProgress | null,
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

/** Members that repeat a text in a way that cannot be held back with it. @returns whether there were any */
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

/** An entry without a readable token cannot be told to have left. */
const tokenLength = (entry: JsonValue): number => tokenOf(entry)?.length ?? Number.POSITIVE_INFINITY
