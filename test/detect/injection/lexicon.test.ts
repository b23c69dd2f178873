// Tests that a cached word has the computed values after any other words.

import fc from 'fast-check'
import t from 'tap'
import { BUCKETS, WORD_FEATURES_MAX, wordBuckets } from '../../../src/detect/injection/features.ts'
import { ENTRY_HASH, ENTRY_SUM, ENTRY_TRAITS, Lexicon } from '../../../src/detect/injection/lexicon.ts'
import { createInjectionModel } from '../../../src/detect/injection/score.ts'
import { TRAIT_COUNT_SHIFT, TRAIT_IDEA_SHIFT, TRAIT_WORD } from '../../../src/detect/injection/token-list.ts'
import { STORED_MODEL } from '../../../src/detect/injection/weights.ts'
import { finishHash, hashLetters } from '../../../src/detect/injection/word-hash.ts'
import { ATTACKS, INNOCENT } from './clear-data.ts'

const weights = Int8Array.from({ length: BUCKETS }, (_, bucket) => (Math.imul(bucket, 0x9e3779b1) >> 24) | 0)
const buckets = new Int32Array(WORD_FEATURES_MAX)

function unitsOf(word: string): Uint16Array {
  return Uint16Array.from(word, (letter) => letter.charCodeAt(0))
}

/** Looks a word up like the tokeniser. */
function lookUp(lexicon: Lexicon, word: string) {
  const units = unitsOf(word)
  let high = 0
  let low = 0
  for (const unit of units) {
    high = (high << 5) | (low >>> 25)
    low = ((low << 5) & 0x3fffffff) | (unit - 0x60)
  }
  const plain = /^[a-z]{1,12}$/.test(word)
  const entry = plain
    ? lexicon.asciiEntry(units, 0, units.length, high, low)
    : lexicon.otherEntry(units, 0, units.length, hashLetters(units, 0, units.length))
  const [hash, sum, traits] = [ENTRY_HASH, ENTRY_SUM, ENTRY_TRAITS].map(
    (column) => lexicon.entries[entry + column] as number,
  )
  return { hash, sum, traits }
}

function compute(word: string) {
  const units = unitsOf(word)
  const running = hashLetters(units, 0, units.length)
  const hash = finishHash(running)
  const count = wordBuckets(units, 0, units.length, hash, buckets)
  const sum = buckets.subarray(0, count).reduce((total, bucket) => total + (weights[bucket] as number), 0)
  const idea = ideas.ofWord(units, 0, units.length, running)
  return { hash, sum, traits: TRAIT_WORD | (idea << TRAIT_IDEA_SHIFT) | (count << TRAIT_COUNT_SHIFT) }
}

const lexicon = new Lexicon(weights)
const { ideas } = lexicon

t.test('an entry belongs to the requested word, not to another of its slot', async (t) => {
  const letters = fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz')
  const words = fc.oneof(
    fc.string({ unit: letters, minLength: 1, maxLength: 20 }),
    fc.string({ unit: fc.constantFrom(...'abcийкл'), minLength: 1, maxLength: 40 }),
    fc.constantFrom('ignore', 'instructions', 'системный', 'all'),
  )
  fc.assert(
    fc.property(fc.array(words, { minLength: 30, maxLength: 60 }), (list) => {
      // Twice, so that words come from the cache.
      for (const word of [...list, ...list]) t.same(lookUp(lexicon, word), compute(word), word)
    }),
    { numRuns: 200 },
  )
})

t.test('more words than fit into the cache stay distinct', async (t) => {
  const word = (index: number) =>
    Array.from(index.toString(26).padStart(5, '0'), (digit) =>
      String.fromCharCode(0x61 + Number.parseInt(digit, 26)),
    ).join('')
  let wrong = 0
  for (let index = 0; index < 30_000; index++) {
    for (const made of [word(index), `${word(index % 5000)}я`]) {
      if (lookUp(lexicon, made).hash !== finishHash(hashLetters(unitsOf(made), 0, made.length))) wrong++
    }
  }
  t.equal(wrong, 0)
})

t.test('a score does not depend on earlier texts', async (t) => {
  const used = createInjectionModel(STORED_MODEL)
  for (let index = 0; index < 20_000; index += 50) {
    used.score(
      Array.from({ length: 50 }, (_, at) => (index + at).toString(36).replace(/\d/g, 'q')).join(' '),
      'whole',
    )
  }
  for (const text of [...ATTACKS, ...INNOCENT].slice(0, 12)) {
    const fresh = createInjectionModel(STORED_MODEL)
    t.same(used.score(text, 'whole'), fresh.score(text, 'whole'))
    t.same(used.score(text, 'windows'), fresh.score(text, 'windows'))
  }
})
