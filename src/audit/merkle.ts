// The Merkle tree over the entries' hashes (RFC 6962 §2.1), whose root commits to a whole log.
// Keeps the right edge of the tree only; the caller stores older nodes.

import { hash } from 'node:crypto'

const HASH_BYTES = 32
const HASH_PREFIX = 'sha256:'
const ENTRY_HASH = /^sha256:[0-9a-f]{64}$/
/** Separate leaves from inner nodes (RFC 6962 §2.1). */
const LEAF_PREFIX = 0x00
const NODE_PREFIX = 0x01

/** Scratch space: a log has millions of each. */
const LEAF = Buffer.alloc(1 + HASH_BYTES, LEAF_PREFIX)
const NODE = Buffer.alloc(1 + 2 * HASH_BYTES, NODE_PREFIX)

/** Root of the tree without leaves (RFC 6962 §2.1). */
export const EMPTY_ROOT: Buffer = hash('sha256', Buffer.alloc(0), 'buffer')

/** Through a string: a buffer from the library takes twice as long. */
const digest = (bytes: Buffer): Buffer => Buffer.from(hash('sha256', bytes, 'binary'), 'binary')

/**
 * Returns a leaf's hash.
 * @throws RangeError unless `entryHash` is `sha256:` and 64 lower-case hexadecimal digits
 */
export function leafHash(entryHash: string): Buffer {
  if (!ENTRY_HASH.test(entryHash)) throw new RangeError('not the hash of an entry')
  LEAF.write(entryHash.slice(HASH_PREFIX.length), 1, 'hex')
  return digest(LEAF)
}

/** Returns a leaf's hash. @param entryDigest the 32 bytes of the hash of an entry */
export function leafOf(entryDigest: Uint8Array): Buffer {
  LEAF.set(entryDigest, 1)
  return digest(LEAF)
}

/** Returns the hash of the parent of two nodes. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  NODE.set(left, 1)
  NODE.set(right, 1 + HASH_BYTES)
  return digest(NODE)
}

/**
 * Receives the hash over the leaves `index * 2^level` to `(index + 1) * 2^level - 1`, for levels
 * above 0.
 */
export type CompletedNode = (level: number, index: number, node: Buffer) => void

/**
 * The right edge of a growing tree: the roots of its largest complete subtrees, left to right, one
 * for each bit set in its size. Enough to append and to compute the root; about 1 µs an entry.
 */
export class Frontier {
  #size: number
  readonly #nodes: Buffer[]

  private constructor(size: number, nodes: Buffer[]) {
    this.#size = size
    this.#nodes = nodes
  }

  /**
   * Restores a frontier.
   * @param nodes the result of `nodes()` or `encoded()`
   * @throws RangeError unless the nodes are 32 bytes each and as many as the size needs
   */
  static read(size: number, nodes: readonly (Buffer | string)[]): Frontier {
    const hashes = nodes.map((node) => (typeof node === 'string' ? decodeNode(node) : node))
    if (!isSize(size) || hashes.length !== bitsSet(size) || !hashes.every((node) => isHash(node))) {
      throw new RangeError('the nodes do not match the size of the tree')
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
   * @param leaf the result of `leafHash`
   * @param completed receives each subtree that this leaf completes, lowest first
   */
  push(leaf: Buffer, completed?: CompletedNode): void {
    let node = leaf
    let level = 0
    let rest = this.#size
    // Each trailing one bit of the size is a complete subtree that the new leaf closes.
    while (rest % 2 === 1) {
      node = nodeHash(this.#nodes.pop() as Buffer, node)
      rest = (rest - 1) / 2
      completed?.(++level, rest, node)
    }
    this.#nodes.push(node)
    this.#size++
  }

  /**
   * Returns the Merkle tree hash of all leaves; for no leaves, the hash of nothing (RFC 6962 §2.1).
   */
  root(): Buffer {
    return this.#nodes.length === 0 ? EMPTY_ROOT : fold(this.#nodes)
  }

  /** Returns the roots of the complete subtrees, left to right: at most 53. */
  nodes(): readonly Buffer[] {
    return [...this.#nodes]
  }

  /** Returns `nodes` in base64, the form in entries and in the stored state. */
  encoded(): string[] {
    return this.#nodes.map((node) => node.toString('base64'))
  }

  /**
   * Returns the complete subtrees by level, at most one each, with their index within the level.
   */
  subtrees(): ReadonlyMap<number, { readonly index: number; readonly node: Buffer }> {
    const subtrees = new Map<number, { index: number; node: Buffer }>()
    let left = this.#nodes.length
    for (let level = 0, rest = this.#size; rest > 0; level++, rest = Math.floor(rest / 2)) {
      if (rest % 2 === 1) subtrees.set(level, { index: rest - 1, node: this.#nodes[--left] as Buffer })
    }
    return subtrees
  }

  copy(): Frontier {
    return new Frontier(this.#size, [...this.#nodes])
  }
}

/** Returns the root over complete subtrees of falling size; the right ones are joined first. */
export function fold(nodes: readonly Buffer[]): Buffer {
  return nodes.reduceRight((right, left) => nodeHash(left, right))
}

/** Returns the number of complete subtrees at the edge of a tree of this size. */
export function bitsSet(size: number): number {
  let count = 0
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2
  return count
}

function decodeNode(text: string): Buffer {
  const node = Buffer.from(text, 'base64')
  // Lenient decoding would accept several spellings of one node.
  if (node.toString('base64') !== text) throw new RangeError('a node is not base64')
  return node
}

export const isSize = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
export const isHash = (node: Buffer): boolean => node.length === HASH_BYTES
