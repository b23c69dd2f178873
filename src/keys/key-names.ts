// Says which names and labels a key may have. They are sealed in every entry of the key, which an
// erasure leaves as it is.

import type { Config, ConfigReading } from '../core/config.ts'
import { isAmong } from '../core/config-document.ts'
import { isLegible, LEGIBLE } from '../core/hidden-characters.ts'
import type { Problem } from '../core/problem.ts'
import { kindInName } from '../detect/pii/clean-name.ts'

const MAXIMUM_NAME_CHARACTERS = 128

/** Returns why a key cannot have the name, without repeating the name; null if it can. */
export function whyNotKeyName(name: string): string | null {
  // Rules match the name, and people compare it.
  if (!isLegible(name) || name.length > MAXIMUM_NAME_CHARACTERS)
    return `must have 1 to ${MAXIMUM_NAME_CHARACTERS} characters, ${LEGIBLE}.`
  const kind = kindInName(name)
  return kind === null
    ? null
    : `must hold no personal data and no secret, and holds a value of kind ${kind}; choose another name.`
}

/** Returns why a key cannot have this label, without repeating it; null if it can. */
export function whyNotLabel(name: string, value: string): string | null {
  if (!isLegible(name) || !isLegible(value)) return `must have ${LEGIBLE}`
  const kind = kindInName(name) ?? kindInName(value)
  return kind === null
    ? null
    : `must hold no personal data and no secret, and one of them holds a value of kind ${kind}`
}

/** Returns a problem for each declared key whose name or labels a key cannot have. */
export function findUnfitKeys(reading: ConfigReading, { keys }: Pick<Config, 'keys'>): Problem[] {
  // Indices differ from the file's if invalid keys were removed.
  if (reading.config === null && isAmong(reading.problems, ['keys'])) return []
  return keys.flatMap(({ name, terms }, index) => {
    const reason = whyNotKeyName(name)
    const reasons = Object.entries(terms.labels).map(([label, value]) => whyNotLabel(label, value))
    const label = reasons.find((one) => one !== null) ?? null
    return [
      ...(reason === null ? [] : [reading.problemAt(['keys', index, 'name'], reason)]),
      ...(label === null ? [] : [reading.problemAt(['keys', index, 'labels'], label)]),
    ]
  })
}
