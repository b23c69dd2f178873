// Names the person who runs a command, for the entries that it seals.

import { userInfo } from 'node:os'
import { type Actor, COMMAND_ACTOR_PREFIX } from '../core/actor.ts'
import { kindInName } from '../detect/pii/clean-name.ts'

const MAXIMUM_USER_CHARACTERS = 64

/**
 * Returns `cli:` and the name of this process's user on this machine. The number of the user stands
 * for a name that is too long, is not printable or holds personal data, and for a user without one.
 */
export const commandActor = (): Actor => actorOf(userName(), process.getuid?.() ?? 0)

/** @param user name of the user; null when the machine has none for the number */
export function actorOf(user: string | null, uid: number): Actor {
  const isLegible = user !== null && /^[\p{L}\p{M}\p{N}\p{P}\p{S}]+$/u.test(user) && user.isWellFormed()
  const isFit = isLegible && user.length <= MAXIMUM_USER_CHARACTERS && kindInName(user) === null
  return `${COMMAND_ACTOR_PREFIX}${isFit ? user : uid}`
}

/** In a container the user often has a number only, for which Node throws. */
function userName(): string | null {
  try {
    return userInfo().username
  } catch {
    return null
  }
}
