// Values that recognisers find, and what in a text is no value.

/** A value in a text. Offsets are UTF-16 units. */
export interface RecognisedValue {
  readonly kind: string
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

/** A text, or the part of it from `start` on. */
export interface TextPiece {
  readonly start: number
  readonly text: string
}

/** Placeholders and pseudonyms in the text of an earlier turn. */
const PLACEHOLDER = /\[[A-Z]+(?:_[A-Z]+)*_[0-9a-z]{1,32}\]/g

/**
 * Removes what is a placeholder from values. The words of a value around one stay.
 * @param values by their starts; they may overlap
 */
export function withoutPlaceholders(
  text: string,
  values: readonly RecognisedValue[],
): readonly RecognisedValue[] {
  if (values.length === 0 || !text.includes('[')) return values
  const placeholders = [...text.matchAll(PLACEHOLDER)].map(({ 0: form, index }) => ({
    ...{ start: index, end: index + form.length },
  }))
  if (placeholders.length === 0) return values
  const left: RecognisedValue[] = []
  let next = 0
  for (const value of values) {
    while (next < placeholders.length && placeholders[next]!.end <= value.start) next++
    let from = value.start
    const add = (end: number, isWhole = false) => {
      const words = isWhole ? { start: 0, end: end - from } : wordsIn(text.slice(from, end))
      if (words !== null) left.push({ ...value, start: from + words.start, end: from + words.end })
    }
    for (let at = next; at < placeholders.length && placeholders[at]!.start < value.end; at++) {
      add(placeholders[at]!.start)
      from = placeholders[at]!.end
    }
    add(value.end, from === value.start)
  }
  return left
}

const WORDS = /[\p{L}\p{N}](?:[\s\S]*[\p{L}\p{N}])?/u

/** Where the words of a text begin and end, without the signs around them; null without words. */
export function wordsIn(text: string): { readonly start: number; readonly end: number } | null {
  const words = WORDS.exec(text)
  return words === null ? null : { start: words.index, end: words.index + words[0].length }
}
