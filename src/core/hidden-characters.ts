// Characters that a reader does not see, or that move others: controls, format characters, half
// surrogate pairs, separators of lines, tags, fillers that no font draws, and selectors of variants
// after a character that has none. A tab and a line feed are not among them.

const HIDDEN =
  /[^\P{Cc}\t\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2065\u2800\u3164\uffa0\ufff0-\ufff8\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]|\u034f|\u17b4|\u17b5|[\u180b-\u180f]|(?<![\p{Extended_Pictographic}\p{Script=Han}])[\ufe00-\ufe0f\u{e0100}-\u{e01ef}](?!\u20e3)/gu

/** Returns a text in which every hidden character is visible, such as `‹202E›`. */
export const visible = (text: string): string =>
  text.replace(HIDDEN, (one) => `‹${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}›`)

/** Reports whether a name has a character that a reader sees. */
export const isLegible = (name: string): boolean => name.replace(HIDDEN, '').trim() !== ''

/** Reports whether a text has a hidden character. */
export const hasHidden = (text: string): boolean => text.search(HIDDEN) >= 0
