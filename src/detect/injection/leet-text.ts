// Reads digits and signs inside words as the letters they imitate, as in `1gn0re`.

import { CLASS_FOREIGN, CLASS_LATIN, classOf } from './character-classes.ts'
import { CodeUnits } from './code-units.ts'

/** Digits and signs, each followed by the letter it imitates. */
const PAIRS = '0o 1i 3e 4a 5s 7t 8b 9g @a $s !i +t €e |i'
/** Letter by digit or sign; zero for other units. */
const LETTERS = new Uint16Array(0x10000)
for (const pair of PAIRS.split(' ')) LETTERS[pair.charCodeAt(0)] = pair.charCodeAt(1)
/** Signs that at the end of a word are marks. */
const MARKS = new Set(Array.from('!+|', (mark) => mark.charCodeAt(0)))

/** Returns the text in which words with a letter have no such signs. Keeps every offset. */
export function readLeet(text: string): string {
  const out = new CodeUnits(text.length)
  const { units } = out
  const length = out.write(text, 0, text.length)
  for (let index = 0; index < length; index++) {
    let letters = 0
    let signs = 0
    const start = index
    for (; index < length; index++) {
      const unit = units[index] as number
      const charClass = classOf(unit)
      if (charClass === CLASS_LATIN || charClass === CLASS_FOREIGN) letters++
      else if (LETTERS[unit] !== 0) signs++
      else break
    }
    if (letters === 0 || signs === 0) continue
    for (let at = start; at < index; at++) {
      const letter = LETTERS[units[at] as number] as number
      if (letter !== 0 && (at < index - 1 || !MARKS.has(units[at] as number))) units[at] = letter
    }
  }
  return out.toString(length)
}
