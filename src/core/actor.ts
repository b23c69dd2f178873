// Who causes a change, as its sealed entry names them. Knows neither sessions nor users.

/** The name of an administrator, `cli:<user>` for a command on the machine, or a name below. */
export type Actor = string

/** Changes that no person makes: rule files, expiries, pruning, start and stop. */
export const GATEWAY_ACTOR: Actor = 'gateway'

/** Nobody is known: a sign-in that failed. */
export const UNKNOWN_ACTOR: Actor = 'unknown'

/** Begins the actor of a command on the machine. */
export const COMMAND_ACTOR_PREFIX = 'cli:'

/** Subjects of OpenID Connect have at most 255 characters (OpenID Connect Core 1.0 §2). */
const MAX_ACTOR_CHARACTERS = 255
/** Controls, format characters (some reverse text), lone surrogates and line separators. */
const ILLEGIBLE = /[\p{C}\p{Zl}\p{Zp}]/u

/** Names that are the same to a reader have one folded form. */
export const foldName = (name: string): string => name.normalize('NFKC').toLowerCase()

/**
 * Returns why a name that an identity provider gives cannot name an actor, without repeating it;
 * null if it can.
 */
export function whyNotActor(name: string): string | null {
  if (name === '' || name.trim() !== name || name.length > MAX_ACTOR_CHARACTERS || ILLEGIBLE.test(name))
    return `must have 1 to ${MAX_ACTOR_CHARACTERS} visible characters, without white space at either end`
  return whyReserved(name)
}

/** Returns why no administrator may have a name, because other actors have it; null if one may. */
export function whyReserved(name: string): string | null {
  const folded = foldName(name)
  const isReserved =
    folded === GATEWAY_ACTOR || folded === UNKNOWN_ACTOR || folded.startsWith(COMMAND_ACTOR_PREFIX)
  return isReserved
    ? `must not be ${GATEWAY_ACTOR} or ${UNKNOWN_ACTOR} and must not begin with ${COMMAND_ACTOR_PREFIX}, which name other actors in the log`
    : null
}
