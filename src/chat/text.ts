// Represents one string of a body and replaces it in place. Does not know which strings are texts.

import { GatewayError } from '../core/errors.ts'
import type { JsonObject, JsonValue } from '../core/json.ts'
import { isExactPlace } from './exact-places.ts'
import { ownerOf, type PathNode, pathOf } from './json-path.ts'

/** A string to scan. */
export interface Text {
  /** As in `messages[0].content[1].text`; a member's name is `metadata.x (name)`. */
  readonly path: string
  /** Equal for the texts of one tool or another member of the body, see `ownerOf`. */
  readonly owner: PathNode | null
  readonly text: string
  /** With `json`, the string holds JSON: scan it decoded, replace it encoded. */
  readonly encoding: 'plain' | 'json'
  /** Role of its message; null outside messages. */
  readonly role: string | null
  /**
   * Running number among the texts of the conversation. Consecutive texts are adjacent. Null
   * outside it.
   */
  readonly joined: number | null
  /**
   * True for what a machine follows: a URL, or an id of an answer. A rule may refuse it; nothing
   * alters it.
   */
  readonly isFollowed: boolean
  /** True for the id of an item, of a tool call or of another thing that the provider names. */
  readonly isId: boolean
  /** True for a number of JSON. */
  readonly isNumber: boolean
  /**
   * True for what a machine compares or follows: a member's name, the name of a tool, a value of a
   * schema, a setting, an id, a URL, a number. A recogniser, which guesses, does not read or alter
   * it.
   */
  readonly isExact: boolean
  /**
   * The JSON before the value, with the names that may say what it is: `"phone":{"value":"`. Empty
   * for running text and names.
   */
  readonly label: string
  /** Replaces the text by a whole number, if it can. @returns whether it did */
  replaceByNumber(number: string): boolean
  /**
   * Replaces the text in the body. A number becomes a string, unless the text is a whole number; a
   * name changes with `commit`.
   * @throws GatewayError `invalid_body` for a setting that would become a string
   */
  replace(text: string): void
}

/** Properties that the texts of one message share. */
export interface TextContext {
  readonly encoding: 'plain' | 'json'
  readonly role: string | null
  readonly joined: number | null
  readonly isFollowed?: boolean
  readonly isId?: boolean
  /** As in Text. */
  readonly isNamed?: boolean
}

/** Sets a member. Plain assignment would take `__proto__` for the prototype. */
export function setMember(object: JsonObject, name: string, value: JsonValue): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  } else object[name] = value
}

/** Longest part of a name that is read. */
const MAXIMUM_NAME_CHARACTERS = 64
/** Names before a value that are read: its own, and that of the object around it. */
const MAXIMUM_NAMES = 2

/** The JSON before the value at a key, without its opening quote. */
function labelBefore(node: PathNode | null, key: string | number): string {
  let label = ''
  let names = 0
  let at: PathNode | null = { parent: node, key }
  for (; at !== null && names < MAXIMUM_NAMES; at = at.parent) {
    if (typeof at.key === 'number') label = `[${label}`
    else {
      names++
      label = `${names > 1 && !label.startsWith('[') ? `"${cut(at.key)}":{` : `"${cut(at.key)}":`}${label}`
    }
  }
  return label
}

const cut = (name: string): string => name.slice(-MAXIMUM_NAME_CHARACTERS)

/** Whole numbers that a double holds. */
const WHOLE = /^-?(?:0|[1-9]\d{0,14}|[1-8]\d{15})$/

/** A string, or a number as JSON, in an object or a list. */
export class ValueText implements Text {
  readonly text: string
  readonly encoding: 'plain' | 'json'
  readonly role: string | null
  readonly joined: number | null
  readonly isFollowed: boolean
  readonly isId: boolean
  readonly isNumber: boolean = false
  readonly #container: JsonObject | JsonValue[]
  readonly #key: string | number
  readonly #node: PathNode | null
  readonly #isNamed: boolean

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
    this.isFollowed = context.isFollowed === true
    this.isId = context.isId === true
    this.#isNamed = context.isNamed === true
    this.#container = container
    this.#key = key
    this.#node = node
  }

  get path(): string {
    return pathOf(this.#node, this.#key)
  }

  get label(): string {
    return this.#isNamed ? labelBefore(this.#node, this.#key) + (this.isNumber ? '' : '"') : ''
  }

  get owner(): PathNode | null {
    return ownerOf(this.#node)
  }

  get isExact(): boolean {
    const isKnown = this.isFollowed || this.isId || this.isNumber
    return isKnown || isExactPlace(this.text, this.#key, this.#node)
  }

  replace(text: string): void {
    // An index in decimal form works like the index.
    setMember(this.#container as JsonObject, String(this.#key), this.wrap(text))
  }

  /** Replaces a string by a whole number. @returns false where that cannot be */
  replaceByNumber(number: string): boolean {
    if (!WHOLE.test(number)) return false
    setMember(this.#container as JsonObject, String(this.#key), Number(number))
    return true
  }

  /** Returns what to write for a text; the text itself unless it was decoded. */
  protected wrap(text: string): JsonValue {
    return text
  }
}

/** A number. */
export class NumberText extends ValueText {
  override readonly isNumber = true

  protected override wrap(text: string): JsonValue {
    return WHOLE.test(text) ? Number(text) : text
  }
}

/** A number of a setting, which stays one: servers refuse a string in its place. */
export class SettingText extends NumberText {
  /** @throws GatewayError `invalid_body` for what is no number */
  protected override wrap(text: string): JsonValue {
    const number = super.wrap(text)
    if (typeof number === 'number') return number
    throw new GatewayError(
      'invalid_body',
      `${this.path} is a setting, and holds a number that would be redacted; send a setting of at most 32 bits.`,
      { param: this.path },
    )
  }
}

/** A decoded text, such as that of a base64 `data:` URL. */
export class UnwrappedText extends ValueText {
  readonly #wrap: (text: string) => string

  override get isExact(): boolean {
    return false
  }

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

/** Collects renames and applies them once for each object; one by one they take quadratic time. */
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

/** New names of the members of each object that were renamed. */
const newNames = new WeakMap<JsonObject, ReadonlyMap<string, string>>()

/** Returns the name that a member of an object has now. @param name as it was parsed */
export const newNameOf = (object: JsonObject, name: string): string => newNames.get(object)?.get(name) ?? name

/** Renames members in place. A name that is taken gets `_2`, `_3`, …, so that no member is lost. */
function renameMembers(object: JsonObject, names: ReadonlyMap<string, string>): void {
  const members = Object.entries(object)
  const taken = new Set(members.map(([name]) => name))
  const suffixes = new Map<string, number>()
  const renamed = new Map<string, string>()
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
    renamed.set(name, free)
    setMember(object, free, value)
  }
  newNames.set(object, renamed)
}

/** The name of a member. */
export class NameText implements Text {
  readonly text: string
  readonly encoding = 'plain'
  readonly role: string | null
  readonly joined = null
  readonly isFollowed = false
  readonly isId = false
  readonly isNumber = false
  readonly isExact = true
  readonly label = ''
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

  get owner(): PathNode | null {
    return ownerOf(this.#node)
  }

  replaceByNumber(): boolean {
    return false
  }

  replace(text: string): void {
    this.#renames.add(this.#object, this.text, text)
  }
}
