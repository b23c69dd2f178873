// What is said of characters as they stand is what normalising makes of them, beside any others of which it is said.

import t from 'tap'
import { Normaliser } from '../../src/keyword/normalise.ts'
import { IN_CONTEXT, LEFT_OUT, Symbols } from '../../src/keyword/prefilter/symbols.ts'

/** Numbers pairs of normalised characters, in place of an automaton's classes. */
function numbered() {
  const pairs = new Map<string, number>()
  const classOf = (plain: number, folded: number) => {
    const key = `${plain} ${folded}`
    if (!pairs.has(key)) pairs.set(key, pairs.size)
    return pairs.get(key)!
  }
  return { classOf, symbols: new Symbols(classOf) }
}

const { classOf, symbols } = numbered()

function normalised(text: string): number[] {
  const classes: number[] = []
  const normaliser = new Normaliser({ take: (plain, folded) => classes.push(classOf(plain, folded)) })
  normaliser.push(text)
  normaliser.finish()
  return classes
}

/** As `normalised`, of characters by themselves. */
const asTheyStand = (text: string): number[] =>
  [...text].map((character) => symbols.of(character.codePointAt(0)!)).filter((symbol) => symbol !== LEFT_OUT)

t.test('every character of Unicode, between letters, spaces, others of its kind and any other', async (t) => {
  const wrong: string[] = []
  let standing = 0
  let random = 1
  let other = 'x'
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint++) {
    // Beyond the planes with characters in them nothing new comes.
    if (codePoint === 0x33480) codePoint = 0xe0000
    if (codePoint === 0xe1000) break
    if (symbols.of(codePoint) === IN_CONTEXT) continue
    const one = String.fromCodePoint(codePoint)
    standing++
    const text = `a${one}B${one}${one} ${one}1${other}${one}${other}\u{1F680}${one}\u2014${one}\u0435${one}\u200b${one}e`
    if (String(normalised(text)) !== String(asTheyStand(text))) wrong.push(codePoint.toString(16))
    random = (random * 48_271) % 2_147_483_647
    if (random % 7 === 0) other = one
  }
  t.same(wrong, [])
  t.ok(standing > 150_000, `${standing} stand for themselves`)
})

t.test('what hangs on others, becomes several or may be half of one does not stand for itself', async (t) => {
  for (const character of [
    '\u0301',
    '\u1161',
    '\u2026',
    '\ufb01',
    '\u0412',
    '\u0392',
    '\ud83d',
    '\ude80',
    '\uff9e',
  ])
    t.equal(symbols.of(character.codePointAt(0)!), IN_CONTEXT, character.codePointAt(0)!.toString(16))
  for (const character of ['\u200b', '\ufe0f', '\u0000', '\u{e0041}'])
    t.equal(symbols.of(character.codePointAt(0)!), LEFT_OUT)
  for (const [character, letter] of [
    ['A', 'a'],
    ['\uff21', 'a'],
    ['\u{1d400}', 'a'],
    ['\u00c9', '\u00e9'],
  ] as const)
    t.equal(symbols.of(character.codePointAt(0)!), symbols.of(letter.codePointAt(0)!), character)
})
