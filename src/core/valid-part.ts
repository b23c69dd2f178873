// What is left of a document with mistakes, so that one mistake does not hide the others.

import { checkValue, formatPath, type Path } from './document.ts'

/** Above a value that lacks a key: an item of a list is of no use then, a section gets its defaults. */
const itemAround = (path: Path): Path | null => (typeof path.at(-2) === 'number' ? path.slice(0, -1) : null)

/** A copy without whatever its schema refuses; null where nothing is left. To look on in, never to act on. */
export function soundPart(value: unknown, schema: object): object | null {
  const paths = checkValue(value, schema).map(({ path, missing }) => (missing ? itemAround(path) : path))
  const refused = new Set(paths.filter((path) => path !== null).map(formatPath))
  return refused.has('') || typeof value !== 'object' ? null : (without(value, [], refused) as object | null)
}

function without(value: unknown, path: Path, refused: ReadonlySet<string>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const isSound = (key: string | number) => !refused.has(formatPath([...path, key]))
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => (isSound(index) ? [without(item, [...path, index], refused)] : []))
  }
  const members = Object.entries(value).filter(([key]) => isSound(key))
  return Object.fromEntries(members.map(([key, item]) => [key, without(item, [...path, key], refused)]))
}
