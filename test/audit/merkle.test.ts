// Compares the tree with the recursive definitions of RFC 6962 §2.1, for every size up to 130.

import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { Frontier, leafHash } from '../../src/audit/merkle.ts'
import {
  consistencyProof,
  inclusionProof,
  type Subtree,
  verifyConsistency,
  verifyInclusion,
} from '../../src/audit/proof.ts'

const SIZES = 130
const sha256 = (...parts: Uint8Array[]) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
const entryHash = (seq: number) => `sha256:${sha256(Buffer.from(`entry ${seq}`)).toString('hex')}`
const LEAVES = Array.from({ length: SIZES }, (_, seq) => leafHash(entryHash(seq)))

/** MTH of RFC 6962 §2.1, over leaf hashes. */
function naiveRoot(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256()
  if (leaves.length === 1) return leaves[0] as Buffer
  const split = naiveSplit(leaves.length)
  return sha256(Buffer.of(1), naiveRoot(leaves.slice(0, split)), naiveRoot(leaves.slice(split)))
}

function naiveSplit(count: number): number {
  let split = 1
  while (split * 2 < count) split *= 2
  return split
}

/** PATH of §2.1.1. */
function naivePath(index: number, leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length === 1) return []
  const split = naiveSplit(leaves.length)
  return index < split
    ? [...naivePath(index, leaves.slice(0, split)), naiveRoot(leaves.slice(split))]
    : [...naivePath(index - split, leaves.slice(split)), naiveRoot(leaves.slice(0, split))]
}

/** SUBPROOF of §2.1.2. */
function naiveSubproof(from: number, leaves: readonly Buffer[], whole: boolean): Buffer[] {
  if (from === leaves.length) return whole ? [] : [naiveRoot(leaves)]
  const split = naiveSplit(leaves.length)
  return from <= split
    ? [...naiveSubproof(from, leaves.slice(0, split), whole), naiveRoot(leaves.slice(split))]
    : [...naiveSubproof(from - split, leaves.slice(split), false), naiveRoot(leaves.slice(0, split))]
}

const subtree: Subtree = (level, index) => {
  const leaves = LEAVES.slice(index * 2 ** level, (index + 1) * 2 ** level)
  return leaves.length === 2 ** level ? naiveRoot(leaves) : null
}
const ROOTS = Array.from({ length: SIZES + 1 }, (_, size) => naiveRoot(LEAVES.slice(0, size)))
const rootOf = (size: number) => ROOTS[size] as Buffer

t.test("a leaf is the hash of a zero byte and the 32 bytes of the entry's hash", async (t) => {
  const raw = Buffer.from(entryHash(1).slice('sha256:'.length), 'hex')
  t.same(leafHash(entryHash(1)), sha256(Buffer.of(0), raw))
  for (const bad of [
    '',
    'sha256:',
    `sha256:${'AB'.repeat(32)}`,
    `sha256:${'ab'.repeat(33)}`,
    'ab'.repeat(32),
  ]) {
    t.throws(() => leafHash(bad), RangeError)
  }
})

t.test('the frontier has the defined root at every size, also after it is restored', async (t) => {
  let frontier = Frontier.empty()
  for (const [size, leaf] of LEAVES.entries()) {
    if (!frontier.root().equals(rootOf(size))) t.fail(`root at size ${size}`)
    const kept = frontier.copy()
    frontier = Frontier.read(frontier.size, size % 2 === 0 ? frontier.encoded() : frontier.nodes())
    frontier.push(leaf)
    if (kept.size !== size || !kept.root().equals(rootOf(size))) t.fail('a copy changed with its original')
  }
  t.equal(frontier.size, SIZES)
  t.same(frontier.root(), rootOf(SIZES))
  t.equal(frontier.nodes().length, 2)
})

t.test('nodes that do not form a frontier are refused', async (t) => {
  const node = Buffer.alloc(32)
  const cases: [number, (Buffer | string)[]][] = [
    [1, []],
    [3, [node]],
    [2, [node, node]],
    [-1, []],
    [1.5, [node]],
    [2 ** 60, [node]],
    [1, [Buffer.alloc(31)]],
    [1, [`${node.toString('base64')}\n`]],
    [1, ['']],
  ]
  for (const [size, nodes] of cases) t.throws(() => Frontier.read(size, nodes), RangeError)
})

t.test('every entry has an inclusion proof in every tree that holds it', async (t) => {
  for (let size = 1; size <= SIZES; size++) {
    for (let index = 0; index < size; index++) {
      const proof = inclusionProof(index, size, subtree) as Buffer[]
      const leaf = LEAVES[index] as Buffer
      if (!verifyInclusion(index, size, leaf, rootOf(size), proof)) t.fail(`entry ${index} of ${size}`)
      if (size % 13 === 0) t.same(proof, naivePath(index, LEAVES.slice(0, size)))
    }
  }
  t.equal(inclusionProof(3, 3, subtree), null)
  t.equal(inclusionProof(-1, 3, subtree), null)
  t.equal(
    inclusionProof(0, 3, () => null),
    null,
  )
})

t.test('every tree has a consistency proof to every later one', async (t) => {
  for (let to = 0; to <= SIZES; to++) {
    for (let from = 0; from <= to; from++) {
      const proof = consistencyProof(from, to, subtree) as Buffer[]
      if (!verifyConsistency(from, to, rootOf(from), rootOf(to), proof)) t.fail(`${from} to ${to}`)
      if (from > 0 && to % 13 === 0) t.same(proof, naiveSubproof(from, LEAVES.slice(0, to), true))
    }
  }
  t.equal(consistencyProof(4, 3, subtree), null)
  t.equal(
    consistencyProof(3, 4, () => null),
    null,
  )
})

t.test('a proof fails for any other leaf, size or root', async () => {
  const anySize = fc.integer({ min: 2, max: SIZES })
  const anyPlace = fc.tuple(anySize, fc.nat(), fc.nat(), fc.nat())
  const flip = (node: Buffer, at: number) => {
    const flipped = Buffer.from(node)
    flipped[at % flipped.length] = (flipped[at % flipped.length] as number) ^ 1
    return flipped
  }
  fc.assert(
    fc.property(anyPlace, ([size, at, other, byte]) => {
      const index = at % size
      const proof = inclusionProof(index, size, subtree) as Buffer[]
      const leaf = LEAVES[index] as Buffer
      const wrongIndex = other % size
      const changed = proof.with(byte % proof.length, flip(proof[byte % proof.length] as Buffer, byte))
      return (
        !verifyInclusion(index, size, leaf, rootOf(size), changed) &&
        !verifyInclusion(index, size, leaf, rootOf(size), proof.slice(1)) &&
        !verifyInclusion(index, size, leaf, rootOf(size), [...proof, leaf]) &&
        !verifyInclusion(index, size, flip(leaf, byte), rootOf(size), proof) &&
        !verifyInclusion(index, size, leaf, flip(rootOf(size), byte), proof) &&
        (wrongIndex === index || !verifyInclusion(wrongIndex, size, leaf, rootOf(size), proof))
      )
    }),
  )
  fc.assert(
    fc.property(anyPlace, ([to, at, byte]) => {
      const from = 1 + (at % (to - 1))
      const proof = consistencyProof(from, to, subtree) as Buffer[]
      const changed = proof.with(byte % proof.length, flip(proof[byte % proof.length] as Buffer, byte))
      return (
        !verifyConsistency(from, to, rootOf(from), rootOf(to), changed) &&
        !verifyConsistency(from, to, rootOf(from), rootOf(to), proof.slice(1)) &&
        !verifyConsistency(from, to, flip(rootOf(from), byte), rootOf(to), proof) &&
        !verifyConsistency(from, to, rootOf(from), flip(rootOf(to), byte), proof)
      )
    }),
  )
})

t.test('proofs are bounded for trees of any size', async (t) => {
  const node = Buffer.alloc(32, 7)
  const size = 2 ** 50 - 1
  for (const index of [0, 2 ** 49 - 1, 2 ** 49, size - 1]) {
    const asked: [number, number][] = []
    inclusionProof(index, size, (level, at) => {
      asked.push([level, at])
      return node
    })
    t.ok(asked.every(([level, at]) => Number.isSafeInteger(at) && (at + 1) * 2 ** level <= size))
  }
  t.notOk(verifyInclusion(0, 2 ** 53, node, node, []))
  t.notOk(verifyInclusion(0, size, node, node, Array(107).fill(node)))
  t.notOk(verifyInclusion(0, 1, Buffer.alloc(31), Buffer.alloc(31), []))
  t.notOk(verifyConsistency(Number.NaN, 2, node, node, []))
})
