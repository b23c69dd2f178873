// Removes invalid values from a document, so that one error does not hide the others.

import { checkValue, formatPath, type Path } from './document.ts'

/** Returns the list item that lacks a required key; null for a section, which gets its defaults. */
const incompleteItem = (path: Path): Path | null =>
  typeof path.at(-2) === 'number' ? path.slice(0, -1) : null

export interface SoundPart {
  /** Null if nothing is left. May lack keys that the schema requires. */
  readonly value: object | null
  /** Returns the path that a value of the part has in the whole: items may have moved up. */
  origin(path: Path): Path
}

/** Returns a copy without the values that the schema rejects. Use it to find more errors only. */
export function soundPart(value: unknown, schema: object): SoundPart {
  const paths = checkValue(value, schema).map(({ path, missing }) => (missing ? incompleteItem(path) : path))
  const rejected = new Set(paths.filter((path) => path !== null).map(formatPath))
  const isNothing = rejected.has('') || typeof value !== 'object'
  return {
    value: isNothing ? null : (without(value, [], rejected) as object | null),
    origin: (path) => whole(path, rejected),
  }
}

function whole(path: Path, rejected: ReadonlySet<string>): Path {
  const found: (string | number)[] = []
  for (const part of path) {
    let at = part
    // Passes over an item for each rejected one before it.
    if (typeof at === 'number')
      for (let kept = -1, item = 0; kept < Number(part); item++)
        if (!rejected.has(formatPath([...found, item]))) {
          kept++
          at = item
        }
    found.push(at)
  }
  return found
}

function without(value: unknown, path: Path, rejected: ReadonlySet<string>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const isValid = (key: string | number) => !rejected.has(formatPath([...path, key]))
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => (isValid(index) ? [without(item, [...path, index], rejected)] : []))
  }
  const members = Object.entries(value).filter(([key]) => isValid(key))
  return Object.fromEntries(members.map(([key, item]) => [key, without(item, [...path, key], rejected)]))
}
