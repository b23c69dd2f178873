// Tiles of a Merkle tree, as https://c2sp.org/tlog-tiles counts them: 256 hashes of one level, at
// every eighth level. Collects the nodes to store while a tree grows, and finds the nodes of any
// earlier tree in stored tiles. Level 0 is the leaves, which the caller derives from the entries.

import { type CompletedNode, type Frontier, leafOf } from './merkle.ts'
import { joinHalves, type Subtree } from './proof.ts'

/** Levels of the tree between two levels of tiles. */
const TILE_HEIGHT = 8
/** Hashes in a full tile. */
export const TILE_NODES = 2 ** TILE_HEIGHT
export const NODE_BYTES = 32
/** Fills the place of a node over entries that are not known. */
const UNKNOWN = Buffer.alloc(NODE_BYTES)

/** A place of a tile in its log. */
export interface TilePlace {
  /** Level of the nodes, divided by 8. */
  readonly level: number
  readonly index: number
}

/** Hashes to append to one tile. */
export interface TileAppend extends TilePlace {
  readonly log: string
  /** Hashes that the tile has before these. */
  readonly position: number
  /** Whether these are the first of the log in this tile; the ones before them are unknown. */
  readonly isFirst: boolean
  readonly hashes: Buffer
}

/** Collects the nodes of one log that belong into tiles above level 0. */
export class TileCollector {
  readonly #log: string
  readonly #firstSeq: number
  readonly #appends = new Map<string, { place: TilePlace; position: number; nodes: Buffer[] }>()

  /** @param firstSeq the first entry of the log; not 0 if its beginning was pruned before */
  constructor(log: string, firstSeq: number) {
    this.#log = log
    this.#firstSeq = firstSeq
  }

  /** Takes the nodes that `Frontier.push` completes. */
  readonly add: CompletedNode = (level, at, node) => {
    if (level % TILE_HEIGHT !== 0) return
    const place = { level: level / TILE_HEIGHT, index: Math.floor(at / TILE_NODES) }
    const key = keyOf(place)
    const append = this.#appends.get(key)
    if (append === undefined) this.#appends.set(key, { place, position: at % TILE_NODES, nodes: [node] })
    else {
      // Entries may be missing between two of them.
      while (append.position + append.nodes.length < at % TILE_NODES) append.nodes.push(UNKNOWN)
      append.nodes.push(node)
    }
  }

  /** Returns what to append, at most one for each tile. */
  appends(): TileAppend[] {
    return [...this.#appends.values()].map(({ place, position, nodes }) => ({
      ...place,
      log: this.#log,
      position,
      isFirst: this.#isFirst(place, position),
      hashes: Buffer.concat(nodes),
    }))
  }

  #isFirst({ level, index }: TilePlace, position: number): boolean {
    const first = Math.floor(this.#firstSeq / TILE_NODES ** level)
    return position === (index === Math.floor(first / TILE_NODES) ? first % TILE_NODES : 0)
  }
}

/** Returns the hashes of a tile that begins with unknown ones. */
export const newTile = ({ position, hashes }: Pick<TileAppend, 'position' | 'hashes'>): Buffer =>
  Buffer.concat([Buffer.alloc(position * NODE_BYTES), hashes])

/**
 * Returns a tile of level 0; entries that are missing are unknown.
 * @param start sequence number of its first leaf
 * @param entries within the tile, with their raw hashes
 */
export function leafTile(start: number, entries: readonly { seq: number; hash: Buffer }[]): Buffer {
  const tile = Buffer.alloc(TILE_NODES * NODE_BYTES)
  for (const { seq, hash } of entries) leafOf(hash).copy(tile, (seq - start) * NODE_BYTES)
  return tile
}

/** Returns the hashes of a tile, which may have fewer than 256; null for one that is not stored. */
export type ReadTile = (place: TilePlace) => Buffer | null

/**
 * Returns the nodes of a tree that is stored in tiles.
 * @param edges edges of the tree at sizes whose leaves are not all stored: before the first entry
 * of the log, and where its months were dropped
 */
export function subtreeIn(read: ReadTile, edges: readonly Frontier[]): Subtree {
  const known = edges.map((edge) => edge.subtrees())
  const subtree: Subtree = (level, index) => {
    for (const nodes of known) {
      const node = nodes.get(level)
      if (node?.index === index) return node.node
    }
    const stored = level % TILE_HEIGHT === 0 ? storedNode(read, level, index) : null
    if (stored !== null) return stored
    return level % TILE_HEIGHT === 0 ? null : joinHalves(level, index, subtree)
  }
  return subtree
}

function storedNode(read: ReadTile, level: number, at: number): Buffer | null {
  const tile = read({ level: level / TILE_HEIGHT, index: Math.floor(at / TILE_NODES) })
  const start = (at % TILE_NODES) * NODE_BYTES
  if (tile === null || tile.length < start + NODE_BYTES) return null
  const node = tile.subarray(start, start + NODE_BYTES)
  return node.equals(UNKNOWN) ? null : node
}

/**
 * Returns the tiles from which `compute` takes nodes: for a root at most one of each level.
 * @param edges as for `subtreeIn`
 */
export function tilesFor(compute: (subtree: Subtree) => unknown, edges: readonly Frontier[]): TilePlace[] {
  const wanted = new Map<string, TilePlace>()
  compute(
    subtreeIn((place) => {
      wanted.set(keyOf(place), place)
      return PLACEHOLDER_TILE
    }, edges),
  )
  return [...wanted.values()]
}

/** Full of nodes that are not unknown. */
const PLACEHOLDER_TILE = Buffer.alloc(TILE_NODES * NODE_BYTES, 1)

/** Returns the text that identifies a place. */
export const keyOf = ({ level, index }: TilePlace): string => `${level}/${index}`
