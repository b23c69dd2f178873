// The stored Merkle tree over the log: the root of every 256 entries, of every 256 of those, and so
// on. Computes all other nodes from these and from the entries, at most 256 rows a level. The
// entries are authoritative.

import { Frontier, leafHash } from '../../audit/merkle.ts'
import {
  type ConsistencyProof,
  consistencyProof,
  type InclusionProof,
  inclusionProof,
  joinHalves,
  type Subtree,
  treeRoot,
} from '../../audit/proof.ts'
import { joinKey, type LogState, u64, unpackEntry } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'

/** Every eighth level is stored: 1/256 of the entries, in rows of about 40 bytes. */
const STORED_LEVELS = 8
const STORED_WIDTH = 2 ** STORED_LEVELS

/**
 * Where the log begins, from its newest `prune` entry; rows before it may still be waiting for
 * removal.
 */
export interface PrunePoint {
  readonly firstSeq: number
  /** The Merkle frontier over the entries before `firstSeq`, base64. */
  readonly frontier: readonly string[]
  /** Sequence number of that entry; null in a log that was never pruned. */
  readonly pruneSeq: number | null
}

const nodeKey = (level: number, index: number): Buffer => joinKey(Buffer.of(level), u64(index))

/**
 * Stores a node if its level is stored. Call it for every node, in the transaction of the entry.
 */
export function storeNode({ nodes }: StoreTables, level: number, index: number, node: Buffer): void {
  if (level % STORED_LEVELS === 0) nodes.put(nodeKey(level, index), node)
}

/** Reports whether the node equals its stored copy, or its level is not stored. */
export function equalsStoredNode(
  { nodes }: StoreTables,
  level: number,
  index: number,
  node: Buffer,
): boolean {
  return level % STORED_LEVELS !== 0 || (nodes.get(nodeKey(level, index))?.equals(node) ?? false)
}

/**
 * Removes the node over the last 256 entries, when entry `seq` is removed after all before it. The
 * prune point's frontier holds what the tree still needs; higher nodes are few and stay.
 */
export function dropNode({ nodes }: StoreTables, seq: number): void {
  if ((seq + 1) % STORED_WIDTH === 0) nodes.remove(nodeKey(STORED_LEVELS, (seq + 1) / STORED_WIDTH - 1))
}

/** Returns the root over all entries from the frontier of the state; null if they do not match. */
export function rootOf({ seq, frontier }: LogState): Buffer | null {
  try {
    return Frontier.read(seq + 1, frontier).root()
  } catch {
    return null
  }
}

/** Returns the nodes of the tree that pruning has left. */
function subtreesOf(tables: StoreTables, prunePoint: PrunePoint): Subtree {
  const before = Frontier.read(prunePoint.firstSeq, prunePoint.frontier).subtrees()
  const subtree: Subtree = (level, index) => {
    // A node half pruned has its left part in the frontier; a right part that is left is stored.
    const atPrunePoint = before.get(level)
    if (atPrunePoint?.index === index) return atPrunePoint.node
    if (level > 0 && level % STORED_LEVELS === 0) {
      const stored = tables.nodes.get(nodeKey(level, index))
      if (stored !== undefined) return stored
    }
    if ((index + 1) * 2 ** level <= prunePoint.firstSeq) return null
    if (level > 0) return joinHalves(level, index, subtree)
    const packed = tables.entries.get(u64(index))
    return packed === undefined ? null : leafHash(unpackEntry(index, packed).hash)
  }
  return subtree
}

/**
 * Requires `seq` below `size`, and `size` at most the number of entries.
 * @returns null when pruned entries are needed
 */
export function proveInclusion(
  tables: StoreTables,
  prunePoint: PrunePoint,
  seq: number,
  size: number,
): InclusionProof | null {
  const path = pathToRoot(tables, prunePoint, seq, size)
  const root = treeRoot(size, subtreesOf(tables, prunePoint))
  return path === null || root === null ? null : { ...path, root }
}

/** As `proveInclusion`, without the root, which takes as many reads as the path. */
export function pathToRoot(
  tables: StoreTables,
  prunePoint: PrunePoint,
  seq: number,
  size: number,
): Omit<InclusionProof, 'root'> | null {
  const subtree = subtreesOf(tables, prunePoint)
  const leaf = seq < prunePoint.firstSeq ? null : subtree(0, seq)
  const proof = inclusionProof(seq, size, subtree)
  return leaf === null || proof === null ? null : { leaf, proof }
}

/**
 * Requires `from` at most `size`, and `size` at most the number of entries.
 * @returns null when pruned entries are needed
 */
export function proveConsistency(
  tables: StoreTables,
  prunePoint: PrunePoint,
  from: number,
  size: number,
): ConsistencyProof | null {
  const subtree = subtreesOf(tables, prunePoint)
  const fromRoot = treeRoot(from, subtree)
  const root = treeRoot(size, subtree)
  const proof = consistencyProof(from, size, subtree)
  return fromRoot === null || root === null || proof === null ? null : { fromRoot, root, proof }
}
