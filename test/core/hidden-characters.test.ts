// Characters that a reader does not see.

import t from 'tap'
import { whyNotActor } from '../../src/core/actor.ts'
import { isLegible, visible, visibleLine } from '../../src/core/hidden-characters.ts'
import { whyNotKeyName, whyNotLabel } from '../../src/keys/key-names.ts'

const HIDDEN = [
  0x200b, 0x202e, 0x2066, 0xfeff, 0xad, 0x061c, 0x180e, 0x2028, 0x2029, 0xe0041, 0xe0001, 0xe0000, 0x3164,
  0x115f, 0x1160, 0x2800, 0xffa0, 0x034f, 0x17b4, 0x17b5, 0x0b, 0x7f, 0x85, 0x180b, 0xfe00, 0xfe0f, 0xe0100,
  0xe01ef, 0xfff0, 0xe0fff,
]

t.test('hidden characters are made visible, and no others', async (t) => {
  for (const code of HIDDEN) {
    const one = String.fromCodePoint(code)
    t.equal(visible(`a${one}b`), `a‹${code.toString(16).toUpperCase().padStart(4, '0')}›b`)
  }
  const shown = 'Tab\tline\nÄ é 你好 한국어 สวัสดี नमस्ते 👩‍👩‍👧 ❤️ 1️⃣ 葛󠄀'.replaceAll('\u200d', '')
  t.equal(visible(shown), shown)
})

t.test('a tab and a line feed are visible in one line', async (t) => {
  t.equal(visibleLine('a\tb\nc\u200b'), 'a‹0009›b‹000A›c‹200B›')
})

t.test('a name of a key or an actor has no hidden character and no white space at the ends', async (t) => {
  const odd = HIDDEN.map((code) => String.fromCodePoint(code)).flatMap((one) => [one, `a${one}b`, `a${one}`])
  const spaced = ['', ' ', ' a', 'a ', 'a\u3000', '\u00a0a', 'a\nb', 'a\tb', '\ud800', 'a\ue000']
  for (const name of [...odd, ...spaced]) {
    t.equal(isLegible(name), false, encodeURI(name.toWellFormed()))
    for (const why of [whyNotKeyName, whyNotActor])
      t.match(why(name), /no white space at the ends and no characters that nobody sees/)
    t.match(whyNotLabel('team', name), /no characters that nobody sees/)
    t.match(whyNotLabel(name, 'team'), /no characters that nobody sees/)
  }
  for (const name of ['a', 'a b', '비밀', 'Åsa', 'नमस्ते', '❤️', '😀']) {
    t.equal(isLegible(name), true, name)
    t.same([whyNotKeyName(name), whyNotActor(name), whyNotLabel(name, name)], [null, null, null])
  }
})
