// The keys of the configuration that are tokens of one issuer, signed with one set of its keys.

import { claimAt } from '../core/claim-path.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { JsonObject, JsonValue } from '../core/json.ts'
import { subjectOf, type TokenIdentity } from '../core/token-identity.ts'
import { compileGlob } from '../policy/glob.ts'
import type { IssuerKeySet, IssuerKeys } from './issuer-keys.ts'
import { accountOf } from './service-account.ts'
import type { VerifiedClaims } from './signed-claims.ts'
import { RefusedToken, type UnverifiedToken } from './token-check.ts'

/** A key, by its hash, and the tokens that stand for it. */
export interface TokenKey {
  readonly sha256: string
  readonly identity: TokenIdentity
}

/** The keys of a verified token. */
export interface TokenResult {
  /** Hashes of the keys that it stands for. */
  readonly keys: readonly string[]
  readonly endMs: Milliseconds
  /** The keys that it was verified with. */
  readonly keySet: IssuerKeySet
}

/** A test for the claims of tokens. */
interface ClaimTest {
  readonly sha256: string
  readonly audience: string
  readonly matches: (claims: JsonObject) => boolean
}

/** Loaded with the first token: a gateway without tokens is to start without it. */
export const loadVerification = () => import('./signed-claims.ts')

export class IssuerTokens {
  readonly #issuer: string
  readonly #audiences: readonly string[]
  /** Hashes of keys that are ServiceAccounts, by audience and subject. */
  readonly #accounts: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly #tests: readonly ClaimTest[]
  readonly #clock: Pick<Clock, 'now'>
  readonly keys: IssuerKeys

  /** @param issued keys with tokens of the issuer */
  constructor(issuer: string, issued: readonly TokenKey[], keys: IssuerKeys, clock: Pick<Clock, 'now'>) {
    this.#issuer = issuer
    this.#clock = clock
    this.keys = keys
    const accounts = new Map<string, Map<string, string>>()
    const tests: ClaimTest[] = []
    for (const { sha256, identity } of issued) {
      const { audience, account, claims } = identity
      if (account === null) tests.push({ sha256, audience, matches: testOf(claims) })
      else {
        const subjects = accounts.get(audience) ?? new Map<string, string>()
        accounts.set(audience, subjects.set(subjectOf(account), sha256))
      }
    }
    this.#audiences = [...new Set(issued.map(({ identity }) => identity.audience))]
    this.#accounts = accounts
    this.#tests = tests
  }

  /**
   * Verifies a token of the issuer. Asks for newer keys, when it is time, if it names an unknown
   * one.
   * @throws RefusedToken (rejects)
   */
  async verify(token: string, { keyId, algorithm }: UnverifiedToken): Promise<TokenResult> {
    const isNamed = (set: IssuerKeySet | null) => set?.keys.some(({ kid }) => kid === keyId) === true
    if (!isNamed(this.keys.current())) await this.keys.refresh()
    const keySet = this.keys.current()
    if (keySet === null) throw new RefusedToken('no_keys')
    if (!isNamed(keySet)) throw new RefusedToken('key')
    // The key says which algorithm its signatures have, never the token.
    if (!keySet.keys.some(({ kid, alg }) => kid === keyId && alg === algorithm))
      throw new RefusedToken('algorithm')
    const { signersOf, verifyClaims } = await loadVerification()
    const terms = { issuer: this.#issuer, audiences: this.#audiences }
    const { claims, endMs } = await verifyClaims(token, signersOf(keySet), terms, this.#clock.now())
    const keys = this.#keysOf(claims)
    if (keys.length === 0) throw new RefusedToken('claims')
    return { keys, endMs, keySet }
  }

  #keysOf(claims: VerifiedClaims): readonly string[] {
    const audiences = new Set([claims.aud].flat())
    const account = accountOf(claims)
    const found: string[] = []
    for (const audience of this.#audiences) {
      if (!audiences.has(audience)) continue
      const named = account === null ? undefined : this.#accounts.get(audience)?.get(subjectOf(account))
      if (named !== undefined) found.push(named)
      for (const test of this.#tests)
        if (test.audience === audience && test.matches(claims as JsonObject)) found.push(test.sha256)
    }
    return found
  }
}

function testOf(claims: TokenIdentity['claims']): ClaimTest['matches'] {
  const tests = claims.map(([name, glob]) => ({ name, isMatch: compileGlob(glob) }))
  return (found) => tests.every(({ name, isMatch }) => textsOf(claimAt(found, name)).some(isMatch))
}

/** Maximum texts of a list that are compared; the claims of a person may be many. */
const MAXIMUM_TEXTS = 256
/** Longest text that is compared. */
const MAXIMUM_TEXT_CHARACTERS = 1024

/** A text, a number or a truth value as JSON writes it, or those of a list. */
const textsOf = (claim: JsonValue | undefined): readonly string[] =>
  [claim]
    .flat()
    .slice(0, MAXIMUM_TEXTS)
    .filter((one) => ['string', 'number', 'boolean'].includes(typeof one))
    .map(String)
    .filter(({ length }) => length <= MAXIMUM_TEXT_CHARACTERS)
