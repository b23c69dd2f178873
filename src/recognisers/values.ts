// Values that recognisers find: how lists of them join, and what in a text is no value.

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

/** Removes what is a placeholder from values. @param values in order, without overlap */
export function withoutPlaceholders(
  text: string,
  values: readonly RecognisedValue[],
): readonly RecognisedValue[] {
  if (values.length === 0 || !text.includes('[')) return values
  const placeholders = [...text.matchAll(PLACEHOLDER)].map(({ 0: form, index }) => ({
    ...{ kind: '', start: index, end: index + form.length },
  }))
  return mergeValues(placeholders, values, { start: 0, text }).filter(({ kind }) => kind !== '')
}

/**
 * Adds values to those that win where both overlap. The words of an added value around those stay,
 * and one that contains a value of its own kind takes its place.
 * @param winning in order, without overlap, like `added`
 */
export function mergeValues<Kept extends RecognisedValue, Added extends RecognisedValue>(
  winning: readonly Kept[],
  added: readonly Added[],
  piece: TextPiece,
): readonly (Kept | Added)[] {
  if (added.length === 0) return winning
  const kept = withoutContained(winning, added)
  const merged: (Kept | Added)[] = [...kept]
  let next = 0
  for (const value of added) {
    let from = value.start
    while (next < kept.length && kept[next]!.end <= from) next++
    for (let at = next; at < kept.length && kept[at]!.start < value.end; at++) {
      addWords(merged, { ...value, start: from, end: Math.max(from, kept[at]!.start) }, piece)
      from = Math.max(from, kept[at]!.end)
    }
    if (from === value.start) merged.push(value)
    else addWords(merged, { ...value, start: from, end: Math.max(from, value.end) }, piece)
  }
  return merged.sort((a, b) => a.start - b.start)
}

/** Leaves out values that are inside an added one of the same kind. */
function withoutContained<Kept extends RecognisedValue>(
  winning: readonly Kept[],
  added: readonly RecognisedValue[],
): readonly Kept[] {
  let next = 0
  return winning.filter(({ kind, start, end }) => {
    while (next < added.length && added[next]!.end <= start) next++
    const around = added[next]
    return around === undefined || around.kind !== kind || around.start > start || around.end < end
  })
}

const WORDS = /[\p{L}\p{N}](?:[\s\S]*[\p{L}\p{N}])?/u

/** Adds a part of a value without the signs around its words; nothing for a part without words. */
function addWords<Value extends RecognisedValue>(
  to: RecognisedValue[],
  part: Value,
  { start, text }: TextPiece,
): void {
  const words = WORDS.exec(text.slice(part.start - start, part.end - start))
  if (words === null) return
  const from = part.start + words.index
  to.push({ ...part, start: from, end: from + words[0].length })
}
