// Reads `admin.oidc`: the identity provider whose people may sign in to the management API, and the
// roles of their groups.

import type { AdminRole } from './admin-role.ts'
import { type Context, isLoopbackUrl, readSecret, type SecretReference } from './config-values.ts'
import type { Path } from './document.ts'
import type { Secret } from './secret.ts'

export interface OidcConfig {
  /** As the file has it; providers differ in a final slash. */
  readonly issuer: string
  readonly clientId: string
  /** Null when it cannot be read, which is a problem of the configuration. */
  readonly clientSecret: Secret | null
  readonly groupsClaim: string
  readonly actorClaim: string
  /** By group. */
  readonly roles: ReadonlyMap<string, AdminRole>
}

/** As declared, with defaults. A key is missing only in an invalid file. */
export interface DeclaredOidc extends Pick<OidcConfig, 'groupsClaim' | 'actorClaim'> {
  readonly issuer?: string
  readonly clientId?: string
  readonly clientSecret?: SecretReference
  readonly roles?: Readonly<Record<string, AdminRole>>
}

export const OIDC_PATH: Path = ['admin', 'oidc']

const SECRET_HINT = 'set it to the secret that the provider gave for admin.oidc.clientId'

/** Reads the section; null without one. Reports errors to the context. */
export function readOidc(context: Context, declared: DeclaredOidc | undefined): OidcConfig | null {
  if (declared === undefined) return null
  const { issuer = '', clientId = '', clientSecret, roles = {}, groupsClaim, actorClaim } = declared
  const problem = whyNotIssuer(issuer)
  if (problem !== null) context.add([...OIDC_PATH, 'issuer'], problem)
  if (Object.keys(roles).length === 0)
    context.add(
      [...OIDC_PATH, 'roles'],
      'is empty, so nobody could sign in; map a group of the provider to a role, like {platform-team: admin}',
    )
  return {
    issuer,
    clientId,
    clientSecret: readSecret(context, [...OIDC_PATH, 'clientSecret'], clientSecret, SECRET_HINT),
    groupsClaim,
    actorClaim,
    roles: new Map(Object.entries(roles)),
  }
}

const ISSUER_HINT = 'use the issuer that the provider names, like https://login.example.com'

/** Returns why a text is no issuer (OpenID Connect Discovery 1.0 §3), or null. */
function whyNotIssuer(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return `is not an https URL; ${ISSUER_HINT}`
  if (url.username !== '' || url.password !== '')
    return 'must not carry a credential; put it in admin.oidc.clientSecret'
  if (/[?#]/.test(text)) return `must have no query and no fragment; ${ISSUER_HINT}`
  if (url.pathname.includes('/.well-known/'))
    return 'must end before /.well-known/, which the gateway adds; remove the rest'
  if (url.protocol === 'http:' && !isLoopbackUrl(text))
    return 'must use https, because tokens travel over it; http is only for a provider on this machine, such as http://localhost:8080'
  return null
}
