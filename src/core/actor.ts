// Who causes a change, as its sealed entry names them. Knows neither sessions nor users.

/** The name of an administrator, `cli:<user>` for a command on the machine, or a name below. */
export type Actor = string

/** Changes that no person makes: rule files, expiries, pruning, start and stop. */
export const GATEWAY_ACTOR: Actor = 'gateway'

/** Nobody is known: a sign-in that failed. */
export const UNKNOWN_ACTOR: Actor = 'unknown'

/** Begins the actor of a command on the machine. */
export const COMMAND_ACTOR_PREFIX = 'cli:'

/** Returns why no administrator may have a name, because other actors have it; null if one may. */
export function whyReserved(name: string): string | null {
  const folded = name.normalize('NFKC').toLowerCase()
  const isReserved =
    folded === GATEWAY_ACTOR || folded === UNKNOWN_ACTOR || folded.startsWith(COMMAND_ACTOR_PREFIX)
  return isReserved
    ? `must not be ${GATEWAY_ACTOR} or ${UNKNOWN_ACTOR} and must not begin with ${COMMAND_ACTOR_PREFIX}, which name other actors in the log`
    : null
}
