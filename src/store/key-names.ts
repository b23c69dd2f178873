// Says which names a key may have. A name is sealed in every entry of its key, which an erasure
// leaves as it is.

import type { Config, ConfigReading } from '../core/config.ts'
import { isAmong } from '../core/config.ts'
import type { Problem } from '../core/problem.ts'
import { kindInName } from '../detect/pii/clean-name.ts'

const MAX_NAME_CHARACTERS = 128

/** Returns why a key cannot have the name, without repeating the name; null if it can. */
export function whyNotKeyName(name: string): string | null {
  // Names appear on terminals and must not control them.
  const isLegible = name.trim() !== '' && name.isWellFormed() && !/\p{Cc}/u.test(name)
  if (!isLegible || name.length > MAX_NAME_CHARACTERS) {
    return `must have 1 to ${MAX_NAME_CHARACTERS} characters, one of them visible and none a control character.`
  }
  const kind = kindInName(name)
  return kind === null
    ? null
    : `must hold no personal data and no secret, and holds a value of kind ${kind}; choose another name.`
}

/** Returns a problem for each declared key whose name a key cannot have. */
export function findUnfitKeyNames(reading: ConfigReading, { keys }: Pick<Config, 'keys'>): Problem[] {
  // Indices differ from the file's if invalid keys were removed.
  if (reading.config === null && isAmong(reading.problems, ['keys'])) return []
  return keys.flatMap(({ name }, index) => {
    const reason = whyNotKeyName(name)
    return reason === null ? [] : [reading.problemAt(['keys', index, 'name'], reason)]
  })
}
