// Canonical JSON after RFC 8785 (JSON Canonicalization Scheme) for log entries. Accepts integers
// only, which leaves out the hard part of the standard: printing floating-point numbers.

/** Deepest nesting. Entries have two or three levels. */
const MAXIMUM_DEPTH = 16

/**
 * Returns the canonical form of objects, arrays, well-formed strings, safe integers, booleans and
 * null: members sorted by UTF-16 code units, no white space (RFC 8785 §3.2).
 * @throws TypeError for any other value; names the member, never its value
 */
export function canonicalize(value: unknown): string {
  return serializeOrdered(value) ?? serialize(value, 'the value', 0)
}

/**
 * Reports whether `text` is the canonical form of `value`, the result of JSON.parse on it.
 * @throws TypeError for a value that has no canonical form
 */
export const isCanonical = (value: unknown, text: string): boolean => canonicalize(value) === text

/**
 * Returns the canonical form of a value whose members are already sorted, three times as fast; null
 * if it cannot.
 */
function serializeOrdered(value: unknown): string | null {
  if (!isOrdered(value, 0)) return null
  const text = JSON.stringify(value)
  // JSON.stringify escapes a lone surrogate. An escaped backslash may look the same and takes the
  // slow path.
  return text.includes('\\ud') ? null : text
}

/**
 * Reports whether the value holds only plain objects with sorted members, arrays, strings, safe
 * integers, booleans and null.
 */
function isOrdered(value: unknown, depth: number): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isSafeInteger(value)
  if (typeof value !== 'object' || depth > MAXIMUM_DEPTH) return false
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (!isOrdered(value[index], depth + 1)) return false
    return true
  }
  if (!isPlain(value)) return false
  let last: string | null = null
  for (const key in value) {
    if (last !== null && last > key) return false
    if (!isOrdered((value as Record<string, unknown>)[key], depth + 1)) return false
    last = key
  }
  return true
}

/**
 * Returns the value, or a copy with lone surrogates replaced by U+FFFD: an odd byte from an
 * upstream must not make an entry impossible to seal. Member names stay; they are ours.
 */
export function wellFormed<Value>(value: Value): Value {
  return isWellFormed(value, 0) ? value : (replaceSurrogates(value, 0) as Value)
}

/** Reports whether no string needs a replacement. Nearly always true, and cheaper than a copy. */
function isWellFormed(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null || depth > MAXIMUM_DEPTH) return true
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++)
      if (!isWellFormed(value[index], depth + 1)) return false
    return true
  }
  for (const key in value) {
    if (!isWellFormed((value as Record<string, unknown>)[key], depth + 1)) return false
  }
  return true
}

function replaceSurrogates(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  // `canonicalize` rejects this depth.
  if (typeof value !== 'object' || value === null || depth > MAXIMUM_DEPTH) return value
  if (Array.isArray(value)) return value.map((item) => replaceSurrogates(item, depth + 1))
  const members = Object.entries(value).map(
    ([key, member]) => [key, replaceSurrogates(member, depth + 1)] as const,
  )
  return Object.fromEntries(members)
}

function serialize(value: unknown, name: string, depth: number): string {
  if (depth > MAXIMUM_DEPTH) throw new TypeError(`${name} is nested too deeply`)
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) throw new TypeError(`${name} holds a lone surrogate`)
      return JSON.stringify(value)
    case 'number':
      if (!Number.isSafeInteger(value)) throw new TypeError(`${name} is not a safe integer`)
      return JSON.stringify(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      return Array.isArray(value) ? serializeArray(value, name, depth) : serializeObject(value, name, depth)
    default:
      throw new TypeError(`${name} is of type ${typeof value}`)
  }
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function serializeArray(values: readonly unknown[], name: string, depth: number): string {
  let text = ''
  // By index: an iterator or map() would skip holes or turn them into null.
  for (let index = 0; index < values.length; index++) {
    text += (index === 0 ? '' : ',') + serialize(values[index], name, depth + 1)
  }
  return `[${text}]`
}

function serializeObject(value: object, name: string, depth: number): string {
  if (!isPlain(value)) throw new TypeError(`${name} is not a plain object`)
  const { keys, labels } = shapeOf(Object.keys(value), name)
  let text = '{'
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string
    text += labels[index] + serialize((value as Record<string, unknown>)[key], key, depth + 1)
  }
  return `${text}}`
}

/** The member names of an object in canonical order, with the text written before each value. */
interface Shape {
  /** In the order of the object. */
  readonly names: readonly string[]
  readonly keys: readonly string[]
  readonly labels: readonly string[]
}

/** Entries have a handful of shapes, so their names are sorted once. */
const MAXIMUM_SHAPES = 16
const shapes: Shape[] = []

function shapeOf(names: readonly string[], name: string): Shape {
  for (const shape of shapes) if (isSame(shape.names, names)) return shape
  // sort() without a comparator compares UTF-16 code units (RFC 8785 §3.2.3).
  const keys = names.toSorted()
  const labels = keys.map((key, index) => {
    if (!key.isWellFormed()) throw new TypeError(`${name} has a member whose name holds a lone surrogate`)
    return `${index === 0 ? '' : ','}${JSON.stringify(key)}:`
  })
  const shape = { names, keys, labels }
  if (shapes.length === MAXIMUM_SHAPES) shapes.shift()
  shapes.push(shape)
  return shape
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false
  return true
}
