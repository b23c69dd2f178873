// Reads who may sign in to the management API: `admin.token` and `admin.tokens`.

import { foldName, whyReserved } from './actor.ts'
import type { Administrator } from './admin-role.ts'
import { type Context, readSecret, type SecretReference } from './config-values.ts'
import { formatPath, type Path } from './document.ts'
import type { Secret } from './secret.ts'

export interface AdminToken extends Administrator {
  /** Null when it cannot be read, which is a problem of the configuration. */
  readonly token: Secret | null
  readonly declaredAt: Path
  readonly tokenAt: Path
}

export interface DeclaredAdminToken extends Administrator {
  readonly token: SecretReference
}

/** Whom `admin.token` signs in. */
const ONLY_ADMIN: Administrator = { name: 'admin', role: 'admin' }

/** Characters of a token: fewer can be guessed. */
const MIN_TOKEN_CHARACTERS = 16
const TOKEN_HINT = 'set it to a long random string, such as the output of: openssl rand -hex 32'

/** Reads the tokens, the single one first. Reports errors to the context. */
export function readAdminTokens(
  context: Context,
  single: SecretReference | undefined,
  several: readonly DeclaredAdminToken[],
): readonly AdminToken[] {
  const tokens = several.map((declared, index): AdminToken => {
    const declaredAt = ['admin', 'tokens', index]
    const tokenAt = [...declaredAt, 'token']
    return { ...declared, declaredAt, tokenAt, token: readToken(context, tokenAt, declared.token) }
  })
  if (single !== undefined) {
    const at = ['admin', 'token']
    tokens.unshift({ ...ONLY_ADMIN, declaredAt: at, tokenAt: at, token: readToken(context, at, single) })
  }
  rejectNames(context, tokens)
  rejectSameToken(context, tokens)
  return tokens
}

function readToken(context: Context, path: Path, reference: SecretReference): Secret | null {
  const secret = readSecret(context, path, reference, TOKEN_HINT, whyNotToken)
  const problem = secret === null ? null : whyNotToken(secret.current())
  if (problem !== null) context.add(path, problem)
  return secret
}

const whyNotToken = (value: string): string | null =>
  Array.from(value).length >= MIN_TOKEN_CHARACTERS
    ? null
    : `is shorter than ${MIN_TOKEN_CHARACTERS} characters and can be guessed; ${TOKEN_HINT}`

/** The log could not tell two administrators of one name apart. */
function rejectNames({ add }: Context, tokens: readonly AdminToken[]): void {
  const first = new Map<string, AdminToken>()
  for (const token of tokens) {
    const folded = foldName(token.name)
    const path = [...token.declaredAt, 'name']
    const reserved = whyReserved(token.name)
    const other = first.get(folded)
    if (reserved !== null) add(path, reserved)
    else if (other === undefined) first.set(folded, token)
    else
      add(
        path,
        `is also the name of the administrator at ${formatPath(other.declaredAt)}; rename one of them`,
      )
  }
}

/** A token must say who signs in. */
function rejectSameToken({ add }: Context, tokens: readonly AdminToken[]): void {
  const first = new Map<string, AdminToken>()
  for (const one of tokens) {
    if (one.token === null) continue
    const other = first.get(one.token.current())
    if (other === undefined) first.set(one.token.current(), one)
    else
      add(
        one.tokenAt,
        `is also the token of ${formatPath(other.declaredAt)}; give each administrator a token of their own`,
      )
  }
}
