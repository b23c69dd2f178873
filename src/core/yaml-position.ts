// Where things stand in a YAML document, and what is wrong with it as a whole. The parser looks through all keys of a mapping
// for each of them; here each is looked at once.

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

/** A mistake at an offset of the text. */
export interface Misplaced {
  readonly offset: number
  readonly message: string
}

/** The places of one document's values. */
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

  /** Of the value at the path, or its nearest ancestor that exists. @param atKey of its key, where it has one */
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
      // A key without a value has no node of its own to point at.
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

/** Keys that their mapping has already, and aliases that stand in what they are for: as a value these have no end. */
export function misplaced({ contents }: Document.Parsed): Misplaced[] {
  const found: Misplaced[] = []
  /** Where the node ends that was given the anchor last. */
  const ends = new Map<string, number>()
  // Without recursion, which a file of brackets would exhaust. In the order of the text, in which anchors count.
  const rest: unknown[] = [contents]
  while (rest.length > 0) {
    const node = rest.pop()
    if (isPair(node)) rest.push(node.value, node.key)
    if (!isNode(node) || !node.range) continue
    const [offset, end] = node.range
    if (isAlias(node)) {
      if (offset < (ends.get(node.source) ?? 0))
        found.push({ offset, message: 'holds an alias of what it stands in itself' })
    } else if (node.anchor !== undefined) ends.set(node.anchor, end)
    if (isMap(node))
      for (const key of repeated(node)) found.push({ offset: key, message: 'this key is there twice' })
    if (isCollection(node)) for (const item of node.items.toReversed()) rest.push(item)
  }
  return found
}

/** Offsets of keys that stand in a mapping again. */
function repeated({ items }: YAMLMap): number[] {
  const seen = new Set<unknown>()
  return items.flatMap(({ key }) => {
    if (!isScalar(key) || !key.range) return []
    const isNew = !seen.has(key.value)
    seen.add(key.value)
    return isNew ? [] : [key.range[0]]
  })
}
