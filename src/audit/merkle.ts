// The Merkle tree over the entries' hashes (RFC 6962 §2.1): one hash that stands for a whole log. Keeps nothing but
// the edge of the tree; where older nodes are kept is the caller's business.

import { hash } from 'node:crypto'

const HASH_BYTES = 32
const HASH_PREFIX = 'sha256:'
const ENTRY_HASH = /^sha256:[0-9a-f]{64}$/
/** Keep a leaf from ever being taken for a node of the tree, and the other way round (RFC 6962 §2.1). */
const LEAF_PREFIX = 0x00
const NODE_PREFIX = 0x01

/** What is hashed, in the same place each time: a log has millions of each. */
const LEAF = Buffer.alloc(1 + HASH_BYTES, LEAF_PREFIX)
const NODE = Buffer.alloc(1 + 2 * HASH_BYTES, NODE_PREFIX)

/** Of the tree without leaves (RFC 6962 §2.1). */
export const EMPTY_ROOT: Buffer = hash('sha256', Buffer.alloc(0), 'buffer')

/** By way of a string: a buffer from the library itself takes twice as long. */
const digest = (bytes: Buffer): Buffer => Buffer.from(hash('sha256', bytes, 'binary'), 'binary')

/** A leaf's hash. @throws RangeError unless `entryHash` is `sha256:` and 64 lower-case hexadecimal digits */
export function leafHash(entryHash: string): Buffer {
  if (!ENTRY_HASH.test(entryHash)) throw new RangeError('not the hash of an entry')
  LEAF.write(entryHash.slice(HASH_PREFIX.length), 1, 'hex')
  return digest(LEAF)
}

/** The hash of the node above two nodes. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  NODE.set(left, 1)
  NODE.set(right, 1 + HASH_BYTES)
  return digest(NODE)
}

/** Takes the hash over the leaves `index * 2^level` to `(index + 1) * 2^level - 1`, above the leaves themselves. */
export type CompletedNode = (level: number, index: number, node: Buffer) => void

/**
 * The right edge of a growing tree: the roots of its largest complete subtrees, left to right, one for each bit
 * that is set in its size. All that appending and the root need; about 1 µs an entry.
 */
export class Frontier {
  #size: number
  readonly #nodes: Buffer[]

  private constructor(size: number, nodes: Buffer[]) {
    this.#size = size
    this.#nodes = nodes
  }

  /**
   * Takes up a tree where it was left.
   * @param nodes as `nodes()` gave them, or as `encoded()` did
   * @throws RangeError when there are not as many nodes of 32 bytes as the size asks for
   */
  static read(size: number, nodes: readonly (Buffer | string)[]): Frontier {
    const hashes = nodes.map((node) => (typeof node === 'string' ? decodeNode(node) : node))
    if (!isSize(size) || hashes.length !== bitsSet(size) || !hashes.every((node) => isHash(node))) {
      throw new RangeError('the nodes do not fit the size of the tree')
    }
    return new Frontier(size, hashes)
  }

  static empty(): Frontier {
    return new Frontier(0, [])
  }

  get size(): number {
    return this.#size
  }

  /**
   * Appends a leaf.
   * @param leaf as `leafHash` gives it
   * @param completed told of each subtree above leaves that this leaf completes, lowest first
   */
  push(leaf: Buffer, completed?: CompletedNode): void {
    let node = leaf
    let level = 0
    let rest = this.#size
    // Every trailing one of the size is a complete subtree that the new one closes.
    while (rest % 2 === 1) {
      node = nodeHash(this.#nodes.pop() as Buffer, node)
      rest = (rest - 1) / 2
      completed?.(++level, rest, node)
    }
    this.#nodes.push(node)
    this.#size++
  }

  /** The Merkle tree hash of all leaves; for no leaves the hash of nothing (RFC 6962 §2.1). */
  root(): Buffer {
    return this.#nodes.length === 0 ? EMPTY_ROOT : fold(this.#nodes)
  }

  /** The roots of the complete subtrees, left to right: 53 at most. */
  nodes(): readonly Buffer[] {
    return [...this.#nodes]
  }

  /** As `nodes`, in base64: what entries and states hold. */
  encoded(): string[] {
    return this.#nodes.map((node) => node.toString('base64'))
  }

  /** The complete subtrees by their level, of which each has one at most, with their index among those of it. */
  subtrees(): ReadonlyMap<number, { readonly index: number; readonly node: Buffer }> {
    const found = new Map<number, { index: number; node: Buffer }>()
    let left = this.#nodes.length
    for (let level = 0, rest = this.#size; rest > 0; level++, rest = Math.floor(rest / 2)) {
      if (rest % 2 === 1) found.set(level, { index: rest - 1, node: this.#nodes[--left] as Buffer })
    }
    return found
  }

  copy(): Frontier {
    return new Frontier(this.#size, [...this.#nodes])
  }
}

/** The root over complete subtrees of falling size: the right ones are joined first. */
export function fold(nodes: readonly Buffer[]): Buffer {
  return nodes.reduceRight((right, left) => nodeHash(left, right))
}

/** Complete subtrees at the edge of a tree of this size. */
export function bitsSet(size: number): number {
  let count = 0
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2
  return count
}

function decodeNode(text: string): Buffer {
  const node = Buffer.from(text, 'base64')
  // Lenient decoding would let one node be written in several ways.
  if (node.toString('base64') !== text) throw new RangeError('a node is not base64')
  return node
}

export const isSize = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
export const isHash = (node: Buffer): boolean => node.length === HASH_BYTES
