// Who causes a change, as its sealed entry names them. Knows neither sessions nor users.

import { isLegible, LEGIBLE } from './hidden-characters.ts'
import { LOOK_ALIKES } from './look-alike-table.ts'

/** The name of an administrator, `cli:<user>` for a command on the machine, or a name below. */
export type Actor = string

/** Changes that no person makes: rule files, expiries, pruning, start and stop. */
export const GATEWAY_ACTOR: Actor = 'gateway'

/** Nobody is known: a sign-in that failed. */
export const UNKNOWN_ACTOR: Actor = 'unknown'

/** Begins the actor of a command on the machine. */
export const COMMAND_ACTOR_PREFIX = 'cli:'

/** Subjects of OpenID Connect have at most 255 characters (OpenID Connect Core 1.0 §2). */
const MAXIMUM_ACTOR_CHARACTERS = 255

/** Names that are the same to a reader have one folded form. */
export const foldName = (name: string): string => name.normalize('NFKC').toLowerCase()

/** ASCII characters that look alike in many fonts, one a pair. */
const ASCII_LOOK_ALIKES: Readonly<Record<string, string>> = { 0: 'o', 1: 'l', i: 'l', '|': 'l' }

/** Reports whether a reader may take two names for one: their letters look alike, as in UTS #39. */
export const looksLike = (name: string, other: string): boolean => skeletonOf(name) === skeletonOf(other)

const skeletonOf = (name: string): string =>
  Array.from(foldName(name), (character) => {
    const latin = LOOK_ALIKES[character.charCodeAt(0)]
    const letter = latin ? String.fromCharCode(latin) : character
    return ASCII_LOOK_ALIKES[letter] ?? letter
  }).join('')

/**
 * Returns why a name that an identity provider gives cannot name an actor, without repeating it;
 * null if it can.
 */
export function whyNotActor(name: string): string | null {
  if (name.length > MAXIMUM_ACTOR_CHARACTERS || !isLegible(name))
    return `must have 1 to ${MAXIMUM_ACTOR_CHARACTERS} characters, ${LEGIBLE}`
  return whyReserved(name)
}

/** Returns why no administrator may have a name, because other actors have it; null if one may. */
export function whyReserved(name: string): string | null {
  const folded = foldName(name)
  const isReserved =
    looksLike(name, GATEWAY_ACTOR) ||
    looksLike(name, UNKNOWN_ACTOR) ||
    looksLike(folded.slice(0, COMMAND_ACTOR_PREFIX.length), COMMAND_ACTOR_PREFIX)
  return isReserved
    ? `must not be ${GATEWAY_ACTOR} or ${UNKNOWN_ACTOR} and must not begin with ${COMMAND_ACTOR_PREFIX}, which name other actors in the log`
    : null
}
