// Characters that a reader does not see, or that move others: controls, format characters, half
// surrogate pairs, separators of lines, tags, fillers that no font draws, and selectors of variants
// after a character that has none. A tab and a line feed are not among them.

/**
 * Characters that no search reads, as part of a class of a regular expression: zero-width,
 * bidirectional, format and annotation characters, fillers, variation selectors and tags.
 */
export const INVISIBLE = '\\p{Default_Ignorable_Code_Point}\\uFFF9-\\uFFFB'

const INVISIBLE_CHARACTER = new RegExp(`^[${INVISIBLE}]$`, 'v')

/** Reports whether a text is one such character. */
export const isInvisible = (character: string): boolean => INVISIBLE_CHARACTER.test(character)

const HIDDEN =
  /[^\P{Cc}\t\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2065\u2800\u3164\uffa0\ufff0-\ufff8\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]|\u034f|\u17b4|\u17b5|[\u180b-\u180f]|(?<![\p{Extended_Pictographic}\p{Script=Han}])[\ufe00-\ufe0f\u{e0100}-\u{e01ef}](?!\u20e3)/gu

/** Returns a text in which every hidden character is visible, such as `‹202E›`. */
export const visible = (text: string): string =>
  text.replace(HIDDEN, (one) => `‹${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}›`)

/** As `visible`, in one line: tabs and line feeds are visible too. */
export const visibleLine = (text: string): string =>
  visible(text).replaceAll('\t', '‹0009›').replaceAll('\n', '‹000A›')

/** Reports whether a text has a hidden character. */
export const hasHidden = (text: string): boolean => text.search(HIDDEN) >= 0

/** What a legible name is, for messages: it follows `must have`. */
export const LEGIBLE = 'no white space at the ends and no characters that nobody sees'

/** Reports whether a reader sees all of a name, which is not empty. */
export const isLegible = (name: string): boolean =>
  name !== '' && name.trim() === name && !/\p{C}/u.test(name) && !hasHidden(name)
