// Matches names and paths against globs: `*` matches any characters, `?` matches one, and in paths
// `**` is any number of segments. Nothing else is special.

/** Longest glob, UTF-16 units; it bounds the time of a match. */
export const MAXIMUM_GLOB_CHARACTERS = 128

/** A glob whose only wildcards are adjacent stars, as most are. */
const ONE_STAR = /^([^*?]*)\*+([^*?]*)$/

/**
 * Returns a test for whole names. Its time is at most the length of the name times that of the
 * glob.
 */
export function compileGlob(glob: string): (name: string) => boolean {
  if (!/[*?]/.test(glob)) return (name) => name === glob
  const simple = ONE_STAR.exec(glob)
  if (simple !== null && glob.isWellFormed()) {
    const [, before = '', after = ''] = simple
    const least = before.length + after.length
    return (name) => name.length >= least && name.startsWith(before) && name.endsWith(after)
  }
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

/** In place of a segment of a glob: any number of segments, at least one. */
const ANY_SEGMENTS = '**'

/**
 * Returns a test for paths by a glob: `*` matches any characters of one segment, `**` as a segment
 * matches one or more segments. Linear in the path for each segment of the glob.
 */
export function compilePathGlob(glob: string): (path: string) => boolean {
  const tests = glob.split('/').map((segment) => (segment === ANY_SEGMENTS ? null : compileGlob(segment)))
  return (path) => matchSegments(tests, path.split('/'))
}

/** Reports whether a glob of paths may match a path below a folder. */
export function coversBelow(glob: string, folder: string): boolean {
  const tests = glob.split('/')
  const segments = folder.split('/')
  const any = tests.indexOf(ANY_SEGMENTS)
  const fixed = any < 0 ? tests : tests.slice(0, any)
  if (any < 0 && tests.length <= segments.length) return false
  return segments.slice(0, fixed.length).every((segment, index) => compileGlob(fixed[index]!)(segment))
}

/** As `matchGlob`: only the last `**` needs another try. */
function matchSegments(
  tests: readonly (((segment: string) => boolean) | null)[],
  segments: readonly string[],
): boolean {
  let at = 0
  let position = 0
  let anyAt = -1
  let anyPosition = 0
  while (position < segments.length) {
    const test = tests[at]
    if (test === null) {
      anyAt = at++
      anyPosition = ++position
    } else if (test?.(segments[position]!) === true) {
      at++
      position++
    } else if (anyAt >= 0) {
      at = anyAt + 1
      position = ++anyPosition
    } else return false
  }
  return at === tests.length
}
