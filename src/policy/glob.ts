// Globs over names: `*` for any run of characters, `?` for one. Nothing else is special.

/** Longest glob; together with it the time is linear in the name. */
export const MAX_GLOB_CHARACTERS = 128

/** A test for whole names. Time is at most the name's length times the glob's. */
export function compileGlob(glob: string): (name: string) => boolean {
  if (!/[*?]/.test(glob)) return (name) => name === glob
  const wanted = [...glob.replace(/\*+/g, '*')]
  return (name) => matchGlob(wanted, name)
}

/** Only the last `*` is ever tried again (Kirk Krauss, 2008): what an earlier one took can stay as it is. */
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
