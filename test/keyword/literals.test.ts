// Tests the automaton that finds many literals at once.

import fc from 'fast-check'
import t from 'tap'
import { LiteralAutomaton } from '../../src/keyword/literals.ts'

const points = (text: string): number[] => [...text].map((character) => character.codePointAt(0)!)

/** Every match as `literal@start-end`, sorted. */
function search(automaton: LiteralAutomaton, text: string): string[] {
  const found: string[] = []
  let state = 0
  points(text).forEach((character, index) => {
    state = automaton.next(state, character)
    for (let at = automaton.ending(state); at !== 0; at = automaton.shorterEnding(at)) {
      for (const word of automaton.literalsAt(at))
        found.push(`${word}@${index + 1 - automaton.depth(at)}-${index + 1}`)
    }
  })
  return found.sort()
}

function searchPlainly(words: readonly string[], text: string): string[] {
  return words
    .flatMap((word, index) =>
      [...Array(text.length).keys()]
        .filter((at) => text.startsWith(word, at))
        .map((at) => `${index}@${at}-${at + word.length}`),
    )
    .sort()
}

const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '光'), maxLength: 60 })
const words = fc.uniqueArray(
  fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '光'), minLength: 1, maxLength: 6 }),
  {
    maxLength: 12,
  },
)

t.test('finds exactly what a search for each literal alone finds', async () => {
  fc.assert(
    fc.property(words, letters, (list, text) => {
      const found = search(new LiteralAutomaton(list.map(points)), text)
      return JSON.stringify(found) === JSON.stringify(searchPlainly(list, text))
    }),
    { numRuns: 1000 },
  )
})

t.test('the pending depth is the longest suffix of the text that begins a chosen literal', async () => {
  fc.assert(
    fc.property(words, letters, fc.nat(), (list, text, seed) => {
      const chosen = (word: number) => (word + seed) % 2 === 0
      const automaton = new LiteralAutomaton(list.map(points))
      const depths = automaton.pendingDepths(chosen)
      const state = points(text).reduce((at, character) => automaton.next(at, character), 0)
      const expected = list
        .filter((_, index) => chosen(index))
        .flatMap((word) => [...word].map((_, length) => word.slice(0, length)))
        .filter((beginning) => text.endsWith(beginning))
        .reduce((longest, beginning) => Math.max(longest, beginning.length), 0)
      return depths[state] === expected
    }),
    { numRuns: 1000 },
  )
})

t.test('states with many children match with a row and without one', async (t) => {
  const alphabet = Array.from({ length: 1500 }, (_, index) => String.fromCharCode(0x4e00 + index))
  // Two levels of 1,500 letters each: more rows than fit into the table.
  const list = alphabet.flatMap((letter, index) =>
    Array.from({ length: 12 }, (_, step) => letter + alphabet[(index * 7 + step * 101) % alphabet.length]),
  )
  const automaton = new LiteralAutomaton(list.map(points))
  const text = list.slice(0, 3000).join('')
  const found = new Set(search(automaton, text).map((hit) => Number(hit.split('@')[0])))
  t.ok(Array.from({ length: 3000 }, (_, index) => index).every((index) => found.has(index)))
})

t.test('a literal listed twice matches twice', async (t) => {
  t.same(search(new LiteralAutomaton([points('ab'), points('ab')]), 'xab'), ['0@1-3', '1@1-3'])
})
