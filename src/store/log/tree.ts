// The Merkle tree over the log as it is stored: the root of every 256 entries, of every 256 of those, and so on. Every
// other node is worked out from these and from the entries, 256 rows a level at most. Lives beside the entries, which
// alone are what it says.

import { Frontier, leafHash } from '../../audit/merkle.ts'
import { consistencyProof, inclusionProof, joinHalves, type Subtree, treeRoot } from '../../audit/proof.ts'
import { joinKey, type LogState, u64, unpackEntry } from '../layout.ts'
import type { StoreTables } from '../lmdb.ts'

/** Nodes of each so many levels are stored: 1/256 of the entries in rows of some 40 bytes. */
const STORED_LEVELS = 8
const STORED_WIDTH = 2 ** STORED_LEVELS

/** Where the log begins, as its newest `prune` entry says; rows before it may be on their way out. */
export interface PrunePoint {
  readonly firstSeq: number
  /** The Merkle frontier over the entries before `firstSeq`, base64. */
  readonly frontier: readonly string[]
  /** Where that entry is; null in a log that was never pruned. */
  readonly pruneSeq: number | null
}

const nodeKey = (level: number, index: number): Buffer => joinKey(Buffer.of(level), u64(index))

/** Takes every node there is and keeps those of some levels. To be called in the transaction of the entry. */
export function storeNode({ nodes }: StoreTables, level: number, index: number, node: Buffer): void {
  if (level % STORED_LEVELS === 0) nodes.put(nodeKey(level, index), node)
}

/** Whether what is stored of a node matchesStoredNode with it. */
export function equalsStoredNode(
  { nodes }: StoreTables,
  level: number,
  index: number,
  node: Buffer,
): boolean {
  return level % STORED_LEVELS !== 0 || (nodes.get(nodeKey(level, index))?.equals(node) ?? false)
}

/**
 * The entry with this number goes, and those before it are gone: so does the node over the last 256. What the tree
 * still needs of it is in the prunePoint's frontier; higher nodes are so few that they stay.
 */
export function dropNode({ nodes }: StoreTables, seq: number): void {
  if ((seq + 1) % STORED_WIDTH === 0) nodes.remove(nodeKey(STORED_LEVELS, (seq + 1) / STORED_WIDTH - 1))
}

/** The root over all entries by the frontier stored with the head; null where that does not fit their number. */
export function rootOf({ seq, frontier }: LogState): Buffer | null {
  try {
    return Frontier.read(seq + 1, frontier).root()
  } catch {
    return null
  }
}

/** The nodes of the tree, as far as pruning has left what they are made of. */
function subtreesOf(tables: StoreTables, prunePoint: PrunePoint): Subtree {
  const before = Frontier.read(prunePoint.firstSeq, prunePoint.frontier).subtrees()
  const subtree: Subtree = (level, index) => {
    // Half of what is prunePoint through lies in the frontier there; the other half, if it is all that is left, is stored.
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

/** That an entry is in the log of some size. */
export interface InclusionProof {
  readonly leaf: Buffer
  readonly root: Buffer
  /** RFC 6962 §2.1.1, leaf upwards. */
  readonly proof: readonly Buffer[]
}

/** That the log of one size is the beginning of the log of another. */
export interface ConsistencyProof {
  readonly fromRoot: Buffer
  readonly root: Buffer
  /** RFC 6962 §2.1.2. */
  readonly proof: readonly Buffer[]
}

/** @returns null where what it takes was pruned. `size` is at most the number of entries, `seq` below it. */
export function proveInclusion(
  tables: StoreTables,
  prunePoint: PrunePoint,
  seq: number,
  size: number,
): InclusionProof | null {
  const subtree = subtreesOf(tables, prunePoint)
  const leaf = seq < prunePoint.firstSeq ? null : subtree(0, seq)
  const root = treeRoot(size, subtree)
  const proof = inclusionProof(seq, size, subtree)
  return leaf === null || root === null || proof === null ? null : { leaf, root, proof }
}

/** @returns null where what it takes was pruned. `from` is at most `size`, which is at most the number of entries. */
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
