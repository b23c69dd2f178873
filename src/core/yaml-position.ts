// Positions of values in a YAML document, and its duplicate keys and wrong aliases.
// Linear in the document; the parser's own lookup compares each key with all others.

import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type LineCounter,
  type Pair,
  type YAMLMap,
} from 'yaml'

export type Path = readonly (string | number)[]

export interface YamlPosition {
  /** 1-based. */
  readonly line: number
  readonly column: number
}

export const START: YamlPosition = { line: 1, column: 1 }

/** An error at a UTF-16 offset of the text. */
export interface Misplaced {
  readonly offset: number
  readonly message: string
}

/** Positions of the values of one document. */
export class YamlPositions {
  readonly #document: Document.Parsed
  readonly #lines: LineCounter
  readonly #members = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>()

  constructor(document: Document.Parsed, lines: LineCounter) {
    this.#document = document
    this.#lines = lines
  }

  /** @param offset UTF-16 */
  at(offset: number): YamlPosition {
    const { line, col } = this.#lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }

  /**
   * Returns the position of the value at the path, or of its nearest ancestor.
   * @param atKey prefers the key to the value
   */
  of(path: Path, atKey: boolean): YamlPosition {
    const values: unknown[] = [this.#document.contents]
    const keys: unknown[] = [null]
    for (const part of path) {
      const parent = values.at(-1)
      const pair = isMap(parent) ? this.#membersOf(parent).get(String(part)) : undefined
      values.push(isSeq(parent) ? parent.items[Number(part)] : pair?.value)
      keys.push(pair?.key)
    }
    for (let length = path.length; length >= 0; length--) {
      const [value, key] = [values[length], keys[length]]
      const wantsKey = atKey && length === path.length
      // A key without a value has no node for the value.
      const node = isNode(key) && (wantsKey || !isNode(value) || !value.range) ? key : value
      if (isNode(node) && node.range) return this.at(node.range[0])
    }
    return START
  }

  #membersOf(map: YAMLMap): ReadonlyMap<string, Pair> {
    let members = this.#members.get(map)
    if (members === undefined) {
      members = new Map(map.items.map((pair) => [String(pair.key), pair]))
      this.#members.set(map, members)
    }
    return members
  }
}

/** The error of an alias that is empty or has no anchor: a pattern or a glob without quotes. */
export const UNQUOTED_ASTERISK =
  "is not valid YAML: put a text that begins with `*` in single quotes, such as '*' or '*-mini'; without quotes it is an alias, and its anchor does not exist"

/**
 * Returns duplicate keys, and aliases that are recursive or have no anchor, in no order. A
 * recursive alias has no finite value.
 */
export function misplaced({ contents }: Document.Parsed): Misplaced[] {
  const found: Misplaced[] = []
  /** End of the last node with each anchor. */
  const ends = new Map<string, number>()
  // A stack, not recursion, which deep nesting would exhaust. In document order, because anchors
  // can be redefined.
  const rest: unknown[] = [contents]
  while (rest.length > 0) {
    const node = rest.pop()
    if (isPair(node)) rest.push(node.value, node.key)
    if (!isNode(node) || !node.range) continue
    const [offset, end] = node.range
    if (isAlias(node)) {
      const anchorEnd = ends.get(node.source)
      if (anchorEnd === undefined) found.push({ offset, message: UNQUOTED_ASTERISK })
      else if (offset < anchorEnd)
        found.push({ offset, message: 'recursive alias: it is inside the value that it refers to' })
    } else if (node.anchor !== undefined) ends.set(node.anchor, end)
    if (isMap(node))
      for (const key of duplicates(node))
        found.push({ offset: key, message: 'duplicate key; remove one of the two' })
    if (isCollection(node)) for (const item of node.items.toReversed()) rest.push(item)
  }
  return found
}

/** Returns the offsets of keys that occur earlier in the mapping. */
function duplicates({ items }: YAMLMap): number[] {
  const seen = new Set<unknown>()
  return items.flatMap(({ key }) => {
    if (!isScalar(key) || !key.range) return []
    const isNew = !seen.has(key.value)
    seen.add(key.value)
    return isNew ? [] : [key.range[0]]
  })
}
