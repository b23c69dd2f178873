// Inclusion and consistency proofs of a Merkle tree (RFC 6962 §2.1.1, §2.1.2): made from its nodes,
// verified against its root.

import { bitsSet, EMPTY_ROOT, fold, isHash, isSize, nodeHash } from './merkle.ts'

/** A tree of 2^53 entries has 53 levels, and no proof is longer than twice that. */
const MAXIMUM_PROOF_NODES = 106

/** Proves that an entry is in the log of a given size. */
export interface InclusionProof {
  readonly leaf: Buffer
  readonly root: Buffer
  /** RFC 6962 §2.1.1, leaf upwards. */
  readonly proof: readonly Buffer[]
}

/** Proves that the log of one size is the beginning of the log of another. */
export interface ConsistencyProof {
  readonly fromRoot: Buffer
  readonly root: Buffer
  /** RFC 6962 §2.1.2. */
  readonly proof: readonly Buffer[]
}

/**
 * Returns the Merkle tree hash of the first `size` leaves.
 * @returns null when `subtree` lacks a node
 */
export function treeRoot(size: number, subtree: Subtree): Buffer | null {
  return size === 0 ? EMPTY_ROOT : rangeRoot(0, size, subtree)
}

/** Returns the hash of a node from its two children; null when one is unknown. */
export function joinHalves(level: number, index: number, subtree: Subtree): Buffer | null {
  const left = subtree(level - 1, 2 * index)
  const right = left === null ? null : subtree(level - 1, 2 * index + 1)
  return left === null || right === null ? null : nodeHash(left, right)
}

/**
 * Returns the hash over the leaves `index * 2^level` to `(index + 1) * 2^level - 1`; null if
 * unknown.
 */
export type Subtree = (level: number, index: number) => Buffer | null

/**
 * Returns the audit path of a leaf (RFC 6962 §2.1.1): at most 53 nodes, leaf upwards.
 * @returns null when the leaf is not in a tree of that size or `subtree` lacks a node
 */
export function inclusionProof(index: number, size: number, subtree: Subtree): Buffer[] | null {
  if (!isSize(size) || !isSize(index) || index >= size) return null
  const downwards: (Buffer | null)[] = []
  let start = 0
  let end = size
  while (end - start > 1) {
    const middle = start + splitOf(end - start)
    const left = index < middle
    downwards.push(left ? rangeRoot(middle, end, subtree) : rangeRoot(start, middle, subtree))
    if (left) end = middle
    else start = middle
  }
  return upwards(downwards)
}

/**
 * Returns the proof that the tree of size `from` is the beginning of the tree of size `to` (RFC
 * 6962 §2.1.2). Empty for equal sizes and for the empty tree, with which every tree begins.
 * @returns null when `from` is larger than `to` or `subtree` lacks a node
 */
export function consistencyProof(from: number, to: number, subtree: Subtree): Buffer[] | null {
  if (!isSize(from) || !isSize(to) || from > to) return null
  if (from === 0) return []
  const downwards: (Buffer | null)[] = []
  let start = 0
  let end = to
  // Until the remaining range is the rest of the smaller tree: SUBPROOF(m, D[n], b) with m = n.
  while (from < end) {
    const middle = start + splitOf(end - start)
    const left = from <= middle
    downwards.push(left ? rangeRoot(middle, end, subtree) : rangeRoot(start, middle, subtree))
    if (left) end = middle
    else start = middle
  }
  if (start > 0) downwards.push(rangeRoot(start, end, subtree))
  return upwards(downwards)
}

/** Reports whether `leaf` is at `index` in the tree with that size and root (RFC 9162 §2.1.3.2). */
export function verifyInclusion(
  index: number,
  size: number,
  leaf: Buffer,
  root: Buffer,
  proof: readonly Buffer[],
): boolean {
  if (!isSize(size) || !isSize(index) || index >= size || !isProof([leaf, root, ...proof])) return false
  const path = new PathToRoot(index, size - 1)
  let node = leaf
  for (const sibling of proof) {
    if (path.atTop) return false
    node = path.step() ? nodeHash(sibling, node) : nodeHash(node, sibling)
  }
  return path.atTop && node.equals(root)
}

/**
 * Reports whether the tree of size `from` is the beginning of the tree of size `to` (RFC 9162
 * §2.1.4.2).
 */
export function verifyConsistency(
  from: number,
  to: number,
  fromRoot: Buffer,
  toRoot: Buffer,
  proof: readonly Buffer[],
): boolean {
  if (!isSize(from) || !isSize(to) || from > to || !isProof([fromRoot, toRoot, ...proof])) return false
  if (from === to) return proof.length === 0 && fromRoot.equals(toRoot)
  if (from === 0) return proof.length === 0 && fromRoot.equals(EMPTY_ROOT)
  // A complete tree is a node of the larger one, so the proof omits it.
  const [first, ...rest] = isPowerOfTwo(from) ? [fromRoot, ...proof] : proof
  if (first === undefined) return false
  const path = new PathToRoot(from - 1, to - 1)
  path.skipRightChildren()
  let smaller = first
  let larger = first
  for (const sibling of rest) {
    if (path.atTop) return false
    if (path.step()) {
      smaller = nodeHash(sibling, smaller)
      larger = nodeHash(sibling, larger)
    } else larger = nodeHash(larger, sibling)
  }
  return path.atTop && smaller.equals(fromRoot) && larger.equals(toRoot)
}

/** The path from a node up to the root: `fn` and `sn` of RFC 9162. */
class PathToRoot {
  #node: number
  #last: number

  constructor(node: number, last: number) {
    this.#node = node
    this.#last = last
  }

  get atTop(): boolean {
    return this.#last === 0
  }

  /** Climbs one step; true when the proof's sibling is on the left. */
  step(): boolean {
    const siblingIsLeft = this.#node % 2 === 1 || this.#node === this.#last
    // The last node of a level without a sibling moves up unchanged.
    if (siblingIsLeft) while (this.#node % 2 === 0 && this.#node !== 0) this.#up()
    this.#up()
    return siblingIsLeft
  }

  skipRightChildren(): void {
    while (this.#node % 2 === 1) this.#up()
  }

  #up(): void {
    this.#node = Math.floor(this.#node / 2)
    this.#last = Math.floor(this.#last / 2)
  }
}

/**
 * Returns the tree hash over the leaves `start` to `end - 1`; `start` is a multiple of the power of
 * two that fits.
 */
function rangeRoot(start: number, end: number, subtree: Subtree): Buffer | null {
  const nodes: Buffer[] = []
  let from = start
  while (from < end) {
    const level = levelWithin(end - from)
    const node = subtree(level, from / 2 ** level)
    if (node === null) return null
    nodes.push(node)
    from += 2 ** level
  }
  return fold(nodes)
}

function upwards(downwards: (Buffer | null)[]): Buffer[] | null {
  const proof = downwards.reverse()
  return proof.every((node) => node !== null) ? proof : null
}

/** Returns the largest power of two below `width`, which is at least 2. */
function splitOf(width: number): number {
  return 2 ** levelWithin(width - 1)
}

/**
 * Returns the level of the largest complete subtree of at most `width` leaves. Math.log2 rounds up
 * near 2^49.
 */
function levelWithin(width: number): number {
  let level = 0
  while (2 ** (level + 1) <= width) level++
  return level
}

const isPowerOfTwo = (size: number): boolean => bitsSet(size) === 1
const isProof = (nodes: readonly Buffer[]): boolean =>
  nodes.length <= MAXIMUM_PROOF_NODES && nodes.every((node) => isHash(node))
