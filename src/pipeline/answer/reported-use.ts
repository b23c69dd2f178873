// Reads what a call used, and which model ran, from an answer that is not scanned, while it passes.
// Knows neither the API nor the form of the answer.

import { JsonMembers } from '../../chat/json-members.ts'
import { mergeUsage, readUsage, USAGE_PLACES, type Usage } from '../../chat/token-usage.ts'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'

/** Types of answers that can say it: JSON, lines of JSON and event streams. */
const READABLE = /^(?:application\/(?:[\w.-]+\+)?(?:x-)?(?:json|ndjson|jsonl)|text\/event-stream)\b/i
/** Types of answers that cannot. One of another type, or without a type, may be an object too. */
const UNREADABLE = /^(?:audio|image|video|font)\//i
/** Bytes before a document: white space, and the mark of UTF-8. */
const BLANK: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf])
const OPEN_OBJECT = 0x7b

const PLACES = [...USAGE_PLACES, ['tool_usage'], ['response', 'tool_usage'], ['model'], ['response', 'model']]
const MAXIMUM_MODEL_CHARACTERS = 256

export class ReportedUse {
  #usage: Usage | null = null
  #model: string | null = null
  #members: JsonMembers | null = new JsonMembers(PLACES, (members) => this.#read(members))
  /** False until the type or the first byte says whether the answer can be read. */
  #isDecided: boolean

  /** @param contentType of the answer */
  constructor(contentType: string | undefined) {
    if (contentType !== undefined && UNREADABLE.test(contentType)) this.#members = null
    this.#isDecided = contentType !== undefined && READABLE.test(contentType)
  }

  /** Whether the answer can say what a call used, as far as its type and its first byte say. */
  get isReadable(): boolean {
    return this.#members !== null
  }

  add(piece: Buffer): void {
    if (!this.#isDecided) this.#decide(piece)
    this.#members?.add(piece)
  }

  #decide(piece: Buffer): void {
    const first = piece.find((byte) => !BLANK.has(byte))
    if (first === undefined) return
    this.#isDecided = true
    if (first !== OPEN_OBJECT) this.#members = null
  }

  /** What the answer says so far; null before it says anything. */
  get usage(): Usage | null {
    return this.#usage
  }

  /** The model that the answer names; null before it names one. */
  get model(): string | null {
    return this.#model
  }

  #read(members: JsonObject): void {
    this.#usage = mergeUsage(this.#usage, withParts(readUsage(members)))
    const { model, response } = members
    this.#model = nameIn(model) ?? (isObject(response) ? nameIn(response['model']) : null) ?? this.#model
  }
}

const nameIn = (value: JsonValue | undefined): string | null =>
  typeof value === 'string' && value.length <= MAXIMUM_MODEL_CHARACTERS ? value : null

/** APIs without answers of text count a total alone; it is what they read. */
function withParts(usage: Usage | null): Usage | null {
  if (usage === null) return null
  const { promptTokens, completionTokens, totalTokens } = usage
  return { ...usage, promptTokens: Math.max(promptTokens, totalTokens - completionTokens) }
}
