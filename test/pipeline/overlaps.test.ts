// Findings that overlap: which of them counts for each character of a text.

import fc from 'fast-check'
import t from 'tap'
import type { RuleAction } from '../../src/core/rule-action.ts'
import {
  GrowingPieces,
  type JudgedFinding,
  judgeFindings,
  type SettledPiece,
  settle,
} from '../../src/pipeline/scan/overlaps.ts'
import { decisionOf } from './fixture.ts'

const TEXT = 'abcdefghijklmnopqrst'

const ACTIONS: Readonly<Record<string, RuleAction>> = {
  ...{ b: 'block', r: 'redact', p: 'pseudonym', s: 'restore', m: 'monitor' },
}

/** Reads findings `action kind start end`, with `:recogniser` after the kind for one of those. */
const read = (written: string): JudgedFinding => {
  const [action = '', name = '', start, end] = written.split(' ')
  const [kind = '', source = 'detector'] = name.split(':')
  const decision = decisionOf(ACTIONS[action]!)
  return { kind, start: Number(start), end: Number(end), decision, source: source as 'detector' }
}

/** Writes pieces as `kind text`, with `+` after the kind for one that is not counted. */
const write = (pieces: readonly SettledPiece[], text: string): string[] =>
  pieces.map(({ kind, start, end, isFirst }) => `${kind}${isFirst ? '' : '+'} ${text.slice(start, end)}`)

const settled = (found: readonly string[], text = TEXT) => write(settle(found.map(read), text), text)

const CASES: readonly [what: string, found: string[], expected: string[]][] = [
  ['findings apart', ['r e 0 2', 'm f 3 5'], ['e ab', 'f de']],
  ['one that monitors around one that redacts', ['m n 0 9', 'r e 3 5'], ['n abc', 'e de']],
  ['one that monitors across it', ['m n 3 9', 'r e 0 5'], ['e abcde', 'n fghi']],
  ['one that monitors inside it', ['m n 3 5', 'r e 0 9'], ['e abcdefghi']],
  ['a block inside one that redacts', ['r e 0 9', 'b f 3 5'], ['e abc', 'f de', 'e+ fghi']],
  ['a block around one that redacts', ['r e 3 5', 'b f 0 9'], ['f abcdefghi']],
  ['two that replace', ['r e 0 5', 'p f 3 9'], ['e abcde', 'f fghi']],
  ['two that begin together', ['r e 0 5', 's f 0 9'], ['f abcdefghi']],
  ['one after the end of a longer', ['r e 0 9', 'r f 3 12', 'r g 5 7'], ['e abcdefghi', 'f jkl']],
  ['two that monitor', ['m e 0 5', 'm f 3 9'], ['e abcde', 'f fghi']],
  ['three actions', ['m n 0 12', 'r e 2 8', 'b f 4 6'], ['n ab', 'e cd', 'f ef', 'e+ gh']],
]
t.test('the strongest action has each character, and every finding is counted once', async (t) => {
  for (const [what, found, expected] of CASES) {
    t.strictSame(settled(found), expected, what)
    t.strictSame(settled([...found].reverse()), expected, `${what}, in another order`)
  }
})

const OF_RECOGNISERS: readonly [found: string[], expected: string[]][] = [
  [['r p:recogniser 0 5'], ['p abcde']],
  [
    ['r e 2 4', 'r p:recogniser 0 9'],
    ['p ab', 'e cd', 'p+ efghi'],
  ],
  [
    ['r e 2 4', 'r e 6 7', 'r p:recogniser 0 9'],
    ['p ab', 'e cd', 'p+ ef', 'e g', 'p+ hi'],
  ],
  [['r e 0 9', 'r p:recogniser 2 4'], ['e abcdefghi']],
  [
    ['r e 4 8', 'r p:recogniser 0 4', 'r p:recogniser 8 9'],
    ['p abcd', 'e efgh', 'p i'],
  ],
  [
    ['r e 0 4', 'r e 4 9', 'r p:recogniser 2 6'],
    ['e abcd', 'e efghi'],
  ],
  [['m e 2 4', 'r p:recogniser 0 9'], ['p abcdefghi']],
  [
    ['r e 2 4', 'm p:recogniser 0 9'],
    ['p ab', 'e cd'],
  ],
  [
    ['r p 2 4', 'r e 6 8', 'r p:recogniser 0 5'],
    ['p abcde', 'e gh'],
  ],
  [['r p 0 5', 'r p:recogniser 2 4'], ['p abcde']],
  [['m p 2 4', 'r p:recogniser 0 5'], ['p abcde']],
  [
    ['r p 2 4', 'm p:recogniser 0 5'],
    ['p ab', 'p cd'],
  ],
  [
    ['m p:recogniser 0 9', 'r l:recogniser 4 6'],
    ['p abcd', 'l ef'],
  ],
]
t.test('what a detector finds comes before what a recogniser finds', async (t) => {
  for (const [found, expected] of OF_RECOGNISERS) t.strictSame(settled(found), expected, `${found}`)
  const text = 'Maria Keller <mk@x.com>'
  t.strictSame(settled(['r e 14 22', 'r p:recogniser 0 23'], text), ['p Maria Keller', 'e mk@x.com'])
})

t.test('what the rules leave alone is out of the contest', async (t) => {
  const found = [read('m n 0 9'), read('m e 2 4')]
  const seen: string[] = []
  const decide = (kind: string, value: string) => {
    seen.push(value)
    return decisionOf(kind === 'n' ? 'allow' : 'redact')
  }
  const judged = judgeFindings(found, 'detector', { start: 0, text: TEXT }, decide)
  t.strictSame(write(settle(judged, TEXT), TEXT), ['e cd'])
  t.strictSame(seen, ['abcdefghi', 'cd'], 'each is judged by the whole value')
})

const MAXIMUM_LENGTH = 12
const finding = fc
  .record({
    action: fc.constantFrom(...Object.keys(ACTIONS)),
    kind: fc.constantFrom('d', 'e', 'f'),
    source: fc.constantFrom('detector', 'recogniser', 'neighbours'),
    start: fc.nat(60),
    length: fc.integer({ min: 1, max: MAXIMUM_LENGTH }),
    pattern: fc.nat(3),
  })
  .map(
    ({ action, source, start, length, ...others }): JudgedFinding => ({
      ...others,
      ...{ start, end: start + length, decision: decisionOf(ACTIONS[action]!), source: source as 'detector' },
    }),
  )

/** The strength of an action, as a number that falls. */
const strength = ({ action }: { readonly action: RuleAction }) =>
  action === 'block' ? 0 : action === 'monitor' ? 2 : 1

t.test('a growing text gives the pieces of the whole, and holds no more than a value', async () => {
  const text = 'abcd efgh ijkl mnop '.repeat(4)
  fc.assert(
    fc.property(fc.array(finding, { maxLength: 20 }), fc.infiniteStream(fc.nat(9)), (found, steps) => {
      const whole = settle(found, text)
      const growing = new GrowingPieces<JudgedFinding>()
      const pieces: SettledPiece[] = []
      let left = [...found]
      let settledTo = 0
      for (let safe = 0; safe < text.length; ) {
        safe += steps.next().value! + 1
        growing.add(left.filter(({ start }) => start < safe))
        left = left.filter(({ start }) => start >= safe)
        const taken = growing.take(safe, { start: settledTo, text: text.slice(settledTo) })
        pieces.push(...taken.pieces)
        settledTo = taken.safe
        if (settledTo < safe - MAXIMUM_LENGTH) return false
      }
      return JSON.stringify(pieces) === JSON.stringify(whole)
    }),
  )
})

t.test('every character has the strongest action that concerns it', async () => {
  const text = 'x'.repeat(80)
  fc.assert(
    fc.property(fc.array(finding, { maxLength: 20 }), (found) => {
      const pieces = settle(found, text)
      for (let at = 0; at < text.length; at++) {
        const around = found.filter(({ start, end }) => start <= at && at < end)
        const owners = pieces.filter(({ start, end }) => start <= at && at < end)
        const strongest = Math.min(...around.map(({ decision }) => strength(decision)))
        // What only monitors is reported once.
        if (strongest < 2 && strength(owners[0]!.finding.decision) !== strongest) return false
        if (owners.length > 1 || (around.length === 0 && owners.length > 0)) return false
      }
      const counted = pieces.filter(({ isFirst }) => isFirst).map((piece) => piece.finding)
      return new Set(counted).size === counted.length
    }),
  )
})

t.test('time is linear in findings that overlap', async (t) => {
  const count = 100_000
  const found = Array.from({ length: count }, (_, index) => {
    const source = index % 3 === 0 ? ':recogniser' : ''
    return read(`${'brpsm'[index % 5]} k${source} ${index} ${index + 200}`)
  })
  const startMs = performance.now()
  const pieces = settle(found, 'x'.repeat(count + 200))
  t.ok(pieces.length > 0)
  t.ok(performance.now() - startMs < 2000)
})
