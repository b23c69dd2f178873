// One string of a body that somebody reads, and how to put another in its place. Does not know which strings those are.

import type { JsonObject, JsonValue } from '../core/json.ts'
import { type PathNode, pathOf } from './json-path.ts'

/** A text on the walk over a body. */
export interface Text {
  /** `messages[0].content[1].text`; for a member's name `metadata.x (name)`. */
  readonly path: string
  readonly text: string
  /** `json`: the string holds JSON; it is to be scanned decoded and replaced encoded. */
  readonly encoding: 'plain' | 'json'
  /** Role of the message it belongs to; null outside of messages. */
  readonly role: string | null
  /** Running number of the texts that make up the conversation: neighbours are read as one text. Null for others. */
  readonly joined: number | null
  /** Puts another text in its place. A number becomes a string; a name changes with `commit`. */
  replace(text: string): void
}

/** What texts of one message have in common. */
export interface TextContext {
  readonly encoding: 'plain' | 'json'
  readonly role: string | null
  readonly joined: number | null
}

/** Sets a member, also one called `__proto__`, which plain assignment would take for the prototype. */
export function setMember(object: JsonObject, name: string, value: JsonValue): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  } else object[name] = value
}

/** A string, or a number in its JSON form, that is a member of an object or an item of a list. */
export class ValueText implements Text {
  readonly text: string
  readonly encoding: 'plain' | 'json'
  readonly role: string | null
  readonly joined: number | null
  readonly #container: JsonObject | JsonValue[]
  readonly #key: string | number
  readonly #node: PathNode | null

  constructor(
    text: string,
    container: JsonObject | JsonValue[],
    key: string | number,
    node: PathNode | null,
    context: TextContext,
  ) {
    this.text = text
    this.encoding = context.encoding
    this.role = context.role
    this.joined = context.joined
    this.#container = container
    this.#key = key
    this.#node = node
  }

  get path(): string {
    return pathOf(this.#node, this.#key)
  }

  replace(text: string): void {
    // Assigning to an index in its decimal form is the same as to the index.
    setMember(this.#container as JsonObject, String(this.#key), this.wrap(text))
  }

  /** What is written for a text: itself, unless it was unwrapped to be read. */
  protected wrap(text: string): string {
    return text
  }
}

/** A text that came wrapped, such as a base64 `data:` URL. */
export class UnwrappedText extends ValueText {
  readonly #wrap: (text: string) => string

  constructor(
    wrapped: { readonly text: string; wrap(text: string): string },
    container: JsonObject | JsonValue[],
    key: string | number,
    node: PathNode | null,
    context: TextContext,
  ) {
    super(wrapped.text, container, key, node, context)
    this.#wrap = wrapped.wrap
  }

  protected override wrap(text: string): string {
    return this.#wrap(text)
  }
}

/** Changes of names, carried out together once an object: one at a time they would take quadratic time. */
export class Renames {
  readonly #byObject = new Map<JsonObject, Map<string, string>>()

  add(object: JsonObject, from: string, to: string): void {
    let names = this.#byObject.get(object)
    if (names === undefined) {
      names = new Map()
      this.#byObject.set(object, names)
    }
    names.set(from, to)
  }

  commit(): void {
    for (const [object, names] of this.#byObject) renameMembers(object, names)
    this.#byObject.clear()
  }
}

/** Renames members in their places; a name that is taken gets `_2`, `_3`, …, so that none is lost. */
function renameMembers(object: JsonObject, names: ReadonlyMap<string, string>): void {
  const members = Object.entries(object)
  const taken = new Set(members.map(([name]) => name))
  const suffixes = new Map<string, number>()
  for (const [name] of members) delete object[name]
  for (const [name, value] of members) {
    const wanted = names.get(name)
    if (wanted === undefined || wanted === name) {
      setMember(object, name, value)
      continue
    }
    let free = wanted
    for (let suffix = suffixes.get(wanted) ?? 2; taken.has(free); suffix++) {
      free = `${wanted}_${suffix}`
      suffixes.set(wanted, suffix + 1)
    }
    taken.add(free)
    setMember(object, free, value)
  }
}

/** The name of a member. */
export class NameText implements Text {
  readonly text: string
  readonly encoding = 'plain'
  readonly role: string | null
  readonly joined = null
  readonly #object: JsonObject
  readonly #node: PathNode | null
  readonly #renames: Renames

  constructor(
    name: string,
    object: JsonObject,
    node: PathNode | null,
    role: string | null,
    renames: Renames,
  ) {
    this.text = name
    this.role = role
    this.#object = object
    this.#node = node
    this.#renames = renames
  }

  get path(): string {
    return `${pathOf(this.#node, this.text)} (name)`
  }

  replace(text: string): void {
    this.#renames.add(this.#object, this.text, text)
  }
}
