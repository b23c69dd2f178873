// Who is signed in, and what the role lets them do. Hides what the gateway would refuse; the
// gateway checks every request itself.

import { createContext } from 'preact'
import { useContext } from 'preact/hooks'

const ROLES = ['viewer', 'auditor', 'editor', 'admin'] as const
export type ConsoleRole = (typeof ROLES)[number]

/** An answer of `GET /api/v1/session`. */
export interface ConsoleSession {
  readonly name: string
  readonly role: ConsoleRole
  readonly expires_at: string
}

/** An answer of `GET /api/v1/session/methods`. */
export interface SignInMethods {
  readonly token: boolean
  readonly oidc: boolean
  /** The administrator who is signed in; null for nobody. */
  readonly session: ConsoleSession | null
}

export const SessionContext = createContext<ConsoleSession | null>(null)

/** Reports whether the reader may do what needs a role. */
export function useMay(needed: ConsoleRole): boolean {
  const session = useContext(SessionContext)
  return session !== null && ROLES.indexOf(session.role) >= ROLES.indexOf(needed)
}
