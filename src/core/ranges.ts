// Searches ranges of a text that are in order and do not overlap.

/** Returns the index of the first range that ends after an offset; their number where none does. */
export function firstEndingAfter(ranges: readonly { readonly end: number }[], offset: number): number {
  let [low, high] = [0, ranges.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (ranges[middle]!.end <= offset) low = middle + 1
    else high = middle
  }
  return low
}
