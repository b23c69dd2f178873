// Characters that a reader does not see, or that move others: controls, format characters, half
// surrogate pairs, separators of lines, tags, and fillers that no font draws. A tab and a line feed
// are not among them.

const HIDDEN =
  /[^\P{Cc}\t\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0\u{e0000}-\u{e007f}]|\u034f|\u17b4|\u17b5/gu

/** Returns a text in which every hidden character is visible, such as `‹202E›`. */
export const visible = (text: string): string =>
  text.replace(HIDDEN, (one) => `‹${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}›`)

/** Reports whether a name has a character that a reader sees. */
export const isLegible = (name: string): boolean => name.replace(HIDDEN, '').trim() !== ''
