// Tests that classifying a character alone agrees with normalising it, next to any other
// independent characters.

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

/** Like `normalised`, for each character alone. */
const classified = (text: string): number[] =>
  [...text].map((character) => symbols.of(character.codePointAt(0)!)).filter((symbol) => symbol !== LEFT_OUT)

t.test(
  'every independent character of Unicode is classified as the normaliser does in any context',
  async (t) => {
    const wrong: string[] = []
    let independent = 0
    let random = 1
    let other = 'x'
    for (let codePoint = 0; codePoint <= 0x10ffff; codePoint++) {
      // The planes above have no characters.
      if (codePoint === 0x33480) codePoint = 0xe0000
      if (codePoint === 0xe1000) break
      if (symbols.of(codePoint) === IN_CONTEXT) continue
      const one = String.fromCodePoint(codePoint)
      independent++
      const text = `a${one}B${one}${one} ${one}1${other}${one}${other}\u{1F680}${one}\u2014${one}\u0435${one}\u200b${one}e`
      if (String(normalised(text)) !== String(classified(text))) wrong.push(codePoint.toString(16))
      random = (random * 48_271) % 2_147_483_647
      if (random % 7 === 0) other = one
    }
    t.same(wrong, [])
    t.ok(independent > 150_000, `${independent} are independent`)
  },
)

t.test(
  'a character that joins others, becomes several or may be half of a pair depends on its context',
  async (t) => {
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
  },
)
