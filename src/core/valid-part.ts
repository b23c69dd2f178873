// Removes invalid values from a document, so that one error does not hide the others.

import { checkValue, formatPath, type Path } from './document.ts'

/** Returns the list item that lacks a required key; null for a section, which gets its defaults. */
const incompleteItem = (path: Path): Path | null =>
  typeof path.at(-2) === 'number' ? path.slice(0, -1) : null

/**
 * Returns a copy without the values that the schema rejects; null if nothing is left. Use it to
 * find more errors only.
 */
export function soundPart(value: unknown, schema: object): object | null {
  const paths = checkValue(value, schema).map(({ path, missing }) => (missing ? incompleteItem(path) : path))
  const rejected = new Set(paths.filter((path) => path !== null).map(formatPath))
  return rejected.has('') || typeof value !== 'object'
    ? null
    : (without(value, [], rejected) as object | null)
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
