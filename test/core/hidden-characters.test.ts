// Characters that a reader does not see.

import t from 'tap'
import { isLegible, visible } from '../../src/core/hidden-characters.ts'
import { whyNotKeyName } from '../../src/store/keys/key-names.ts'

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

t.test('a name of hidden characters alone is refused, and one with others is not', async (t) => {
  for (const code of HIDDEN) {
    const one = String.fromCodePoint(code)
    t.equal(isLegible(`${one} ${one}`), false, code.toString(16))
    t.not(whyNotKeyName(one), null, code.toString(16))
  }
  for (const name of ['a', '한\u200b', '비밀']) {
    t.equal(isLegible(name), true)
    t.equal(whyNotKeyName(name), null)
  }
})
