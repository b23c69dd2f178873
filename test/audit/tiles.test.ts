// Trees that are stored in tiles, against the frontier and the proofs over all their nodes.

import fc from 'fast-check'
import t from 'tap'
import { Frontier, leafHash } from '../../src/audit/merkle.ts'
import {
  consistencyProof,
  inclusionProof,
  type Subtree,
  treeRoot,
  verifyConsistency,
  verifyInclusion,
} from '../../src/audit/proof.ts'
import {
  keyOf,
  NODE_BYTES,
  newTile,
  type ReadTile,
  subtreeIn,
  TILE_NODES,
  TileCollector,
  tilesFor,
} from '../../src/audit/tiles.ts'

const SIZES = 70_000
const LEAVES = Array.from({ length: SIZES }, (_, seq) =>
  leafHash(`sha256:${seq.toString(16).padStart(64, '0')}`),
)

/** Edges of the tree of all leaves at some sizes. */
const EDGES = new Map<number, Frontier>()
const whole = Frontier.empty()
const WANTED = [0, 1, 255, 256, 257, 1000, 1024, 65_535, 65_536, 65_537, 66_100]
for (const [seq, leaf] of LEAVES.entries()) {
  if (WANTED.includes(seq)) EDGES.set(seq, whole.copy())
  whole.push(leaf)
}

/** A log that keeps its tiles, as a database does. */
class TiledLog {
  readonly #tiles = new Map<string, Buffer>()
  readonly #frontier: Frontier
  readonly first: number
  readonly edges: readonly Frontier[]
  reads = 0

  constructor(first: number) {
    this.first = first
    this.#frontier = EDGES.get(first)!.copy()
    this.edges = first === 0 ? [] : [this.#frontier.copy()]
  }

  get size(): number {
    return this.#frontier.size
  }

  append(count: number): void {
    const collector = new TileCollector('log', this.first)
    for (const leaf of LEAVES.slice(this.size, this.size + count)) this.#frontier.push(leaf, collector.add)
    for (const append of collector.appends()) {
      const stored = this.#tiles.get(keyOf(append))
      const isNext = stored === undefined ? append.isFirst : stored.length === append.position * NODE_BYTES
      if (!isNext) throw new Error(`a gap in tile ${keyOf(append)}`)
      this.#tiles.set(
        keyOf(append),
        stored === undefined ? newTile(append) : Buffer.concat([stored, append.hashes]),
      )
    }
  }

  readonly read: ReadTile = (place) => {
    this.reads++
    if (place.level > 0) return this.#tiles.get(keyOf(place)) ?? null
    const start = place.index * TILE_NODES
    const leaves = LEAVES.slice(start, Math.min(start + TILE_NODES, this.size))
    return Buffer.concat(
      leaves.map((leaf, at) => (start + at < this.first ? Buffer.alloc(NODE_BYTES) : leaf)),
    )
  }

  /** Reads only the tiles that a first computation asked for. */
  compute<Result>(make: (subtree: Subtree) => Result): Result {
    const places = new Map(tilesFor(make, this.edges).map((place) => [keyOf(place), this.read(place)]))
    return make(
      subtreeIn((place) => {
        const tile = places.get(keyOf(place))
        if (tile === undefined) throw new Error(`tile ${keyOf(place)} was not asked for`)
        return tile
      }, this.edges),
    )
  }
}

/** Roots of the tree of all leaves, at every size up to the largest. */
const ROOTS: Buffer[] = []
{
  const frontier = Frontier.empty()
  for (const leaf of LEAVES) {
    ROOTS.push(frontier.root())
    frontier.push(leaf)
  }
  ROOTS.push(frontier.root())
}

t.test(
  'a log in tiles has the root of the frontier at every size, from one tile of each level',
  async (t) => {
    for (const first of EDGES.keys()) {
      const log = new TiledLog(first)
      fc.assert(
        fc.property(
          fc.integer({ min: 0, max: 700 }),
          fc.double({ min: 0, max: 1, noNaN: true }),
          (more, at) => {
            log.append(more)
            const size = first + Math.floor(at * (log.size - first))
            log.reads = 0
            const root = log.compute((subtree) => treeRoot(size, subtree))
            return ROOTS[size]!.equals(root!) && log.reads <= 3
          },
        ),
        { numRuns: 60 },
      )
      log.append(SIZES)
      t.same(
        log.compute((subtree) => treeRoot(SIZES, subtree)),
        ROOTS[SIZES],
        `from ${first} on`,
      )
    }
  },
)

t.test('a log in tiles proves each of its entries, and that it only grew', async () => {
  for (const first of EDGES.keys()) {
    const log = new TiledLog(first)
    log.append(SIZES)
    const sizes = fc.integer({ min: first + 1, max: SIZES })
    fc.assert(
      fc.property(sizes, fc.nat(), (size, at) => {
        const seq = first + (at % (size - first))
        const proof = log.compute((subtree) => inclusionProof(seq, size, subtree))
        // What was pruned beside an entry is in no tile.
        if (proof === null) return first > 0
        return verifyInclusion(seq, size, LEAVES[seq]!, ROOTS[size]!, proof)
      }),
      { numRuns: 40 },
    )
    fc.assert(
      fc.property(sizes, sizes, (one, other) => {
        const [from, to] = one < other ? [one, other] : [other, one]
        const proof = log.compute((subtree) => consistencyProof(from, to, subtree))
        return proof !== null && verifyConsistency(from, to, ROOTS[from]!, ROOTS[to]!, proof)
      }),
      { numRuns: 40 },
    )
  }
})

t.test('a log whose oldest leaves were dropped has its roots by the edge at the cut', async (t) => {
  const log = new TiledLog(0)
  log.append(SIZES)
  const cut = EDGES.get(66_100)!
  const read: ReadTile = (place) => {
    const tile = log.read(place)
    if (place.level > 0 || tile === null) return tile
    const start = place.index * TILE_NODES
    return Buffer.from(tile).fill(0, 0, Math.min(tile.length, Math.max(0, cut.size - start) * NODE_BYTES))
  }
  for (const size of [66_100, 66_101, 66_200, SIZES])
    t.same(treeRoot(size, subtreeIn(read, [cut])), ROOTS[size], String(size))
  t.same(treeRoot(65_536 + 256, subtreeIn(read, [cut])), ROOTS[65_536 + 256], 'whole tiles remain')
  t.equal(treeRoot(66_099, subtreeIn(read, [cut])), null)
})

t.test('nodes that were never stored make no root', async (t) => {
  const log = new TiledLog(1000)
  log.append(3000)
  t.equal(
    log.compute((subtree) => treeRoot(999, subtree)),
    null,
  )
  t.equal(treeRoot(1000, subtreeIn(log.read, [])), null)
  t.equal(treeRoot(5000, subtreeIn(log.read, log.edges)), null)
  t.equal(
    treeRoot(
      2000,
      subtreeIn(() => null, log.edges),
    ),
    null,
  )
})
