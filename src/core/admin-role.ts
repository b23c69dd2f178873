// The roles of administrators. Each role may do what the one before it may.

/**
 * `viewer` reads everything but captured texts; `auditor` also reads those and verifies; `editor`
 * also changes keys and rules; `admin` also erases and ends the sessions of others.
 */
export const ADMIN_ROLES = ['viewer', 'auditor', 'editor', 'admin'] as const
export type AdminRole = (typeof ADMIN_ROLES)[number]

export interface Administrator {
  /** The actor in sealed entries. */
  readonly name: string
  readonly role: AdminRole
}

/** How an administrator signs in: with a token of their own, or at an identity provider. */
export const SIGN_IN_METHODS = ['token', 'oidc'] as const
export type SignInMethod = (typeof SIGN_IN_METHODS)[number]

/** An administrator as a session knows them. */
export interface SignedInAdministrator extends Administrator {
  readonly via: SignInMethod
}

/** Reports whether a role may do what needs another. */
export const includesRole = (held: AdminRole, needed: AdminRole): boolean =>
  ADMIN_ROLES.indexOf(held) >= ADMIN_ROLES.indexOf(needed)
