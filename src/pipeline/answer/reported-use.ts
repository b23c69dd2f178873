// Reads what a call used, and which model ran, from an answer that is not scanned, while it passes.
// Knows neither the API nor the form of the answer.

import { JsonMembers } from '../../chat/json-members.ts'
import { mergeUsage, readUsage, USAGE_PLACES, type Usage } from '../../chat/token-usage.ts'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'

/** Types of answers that can say it: JSON, lines of JSON and event streams. */
const READABLE = /^(?:application\/(?:[\w.-]+\+)?(?:x-)?(?:json|ndjson|jsonl)|text\/event-stream)\b/i

const PLACES = [...USAGE_PLACES, ['model'], ['response', 'model']]
const MAXIMUM_MODEL_CHARACTERS = 256

export class ReportedUse {
  #usage: Usage | null = null
  #model: string | null = null
  readonly #members: JsonMembers | null

  /** @param contentType of the answer; nothing is read from another than READABLE */
  constructor(contentType: string | undefined) {
    const isReadable = READABLE.test(contentType ?? '')
    this.#members = isReadable ? new JsonMembers(PLACES, (members) => this.#read(members)) : null
  }

  /** Whether answers of this type can say what a call used. */
  get isReadable(): boolean {
    return this.#members !== null
  }

  add(piece: Buffer): void {
    this.#members?.add(piece)
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
