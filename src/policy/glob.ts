// Matches names against globs: `*` matches any characters, `?` matches one. Nothing else is
// special.

/** Longest glob, UTF-16 units; it bounds the time of a match. */
export const MAX_GLOB_CHARACTERS = 128

/**
 * Returns a test for whole names. Its time is at most the length of the name times that of the
 * glob.
 */
export function compileGlob(glob: string): (name: string) => boolean {
  if (!/[*?]/.test(glob)) return (name) => name === glob
  const wanted = [...glob.replace(/\*+/g, '*')]
  return (name) => matchGlob(wanted, name)
}

/**
 * Backtracks to the last `*` only: what an earlier one matched need not change (Kirk Krauss, 2008).
 */
function matchGlob(glob: readonly string[], name: string): boolean {
  let position = 0
  let at = 0
  let star = -1
  let starPosition = 0
  while (position < name.length) {
    const width = name.codePointAt(position)! > 0xffff ? 2 : 1
    if (glob[at] === '*') {
      star = at++
      starPosition = position
    } else if (
      at < glob.length &&
      (glob[at] === '?' || glob[at] === name.slice(position, position + width))
    ) {
      at++
      position += width
    } else if (star >= 0) {
      at = star + 1
      starPosition += name.codePointAt(starPosition)! > 0xffff ? 2 : 1
      position = starPosition
    } else {
      return false
    }
  }
  while (glob[at] === '*') at++
  return at === glob.length
}
