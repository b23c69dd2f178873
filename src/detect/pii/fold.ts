// Digits of other scripts, and the signs that numbers and addresses are written with in full width, as those of ASCII.
// One for one, so that offsets stay what they are and a stream may fold piece by piece.

/** The zeros of decimal digits that people write numbers with; nine more follow on each (Unicode, category Nd). */
const ZEROS = [
  0x0660, // Arabic
  0x06f0, // Persian, Urdu
  0x0966, // Devanagari
  0x09e6, // Bengali
  0x0e50, // Thai
  0xff10, // full width
]
const DIGITS = 10
const ASCII_ZERO = 0x30

const FOLDED = new Map<string, string>([
  ['＠', '@'],
  ['．', '.'],
  ['－', '-'],
  ['＋', '+'],
])
for (const zero of ZEROS) {
  for (let digit = 0; digit < DIGITS; digit++)
    FOLDED.set(String.fromCharCode(zero + digit), String.fromCharCode(ASCII_ZERO + digit))
}
const FOREIGN = `[${[...FOLDED.keys()].join('')}]`
const ANY_FOREIGN = new RegExp(FOREIGN)
const EVERY_FOREIGN = new RegExp(FOREIGN, 'g')

/** The text in which numbers are looked for; the same text if there is nothing to fold. */
export const fold = (text: string): string =>
  ANY_FOREIGN.test(text)
    ? text.replace(EVERY_FOREIGN, (character) => FOLDED.get(character) ?? character)
    : text
