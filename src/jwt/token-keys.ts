// Finds the keys of the configuration that a token stands for. A token is verified once, offline,
// and remembered by its hash until it ends or the keys of an issuer change.

import type { Clock } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { TOKEN_ALGORITHMS } from '../core/json-web-keys.ts'
import type { KeySetSource } from '../core/key-set-source.ts'
import type { Timers } from '../core/timers.ts'
import { FileKeys, type IssuerKeys, UrlKeys } from './issuer-keys.ts'
import { IssuerTokens, loadVerification, type TokenKey, type TokenResult } from './issuer-tokens.ts'
import { requestKeySet } from './key-set-request.ts'
import { MAXIMUM_TOKEN_CHARACTERS, RefusedToken, readUnverified, type TokenCheck } from './token-check.ts'
import { hashToken, TokenMemory } from './token-memory.ts'

/** Hashes of the keys that a token stands for, at least one, or the check that it did not pass. */
export type TokenFinding = readonly string[] | TokenCheck

export interface TokenKeysParts {
  readonly keys: readonly TokenKey[]
  readonly clock: Clock
  readonly timers: Timers
  /** A call was refused because of its token. */
  readonly onRefused: (check: TokenCheck) => void
  /**
   * Keys of an issuer were read at a place.
   * @param problem why they are not in force; null if they are
   */
  readonly onLoad: (issuer: string, place: string, problem: string | null) => void
  readonly request?: typeof requestKeySet
}

/** Tokens that may wait for their verification; one more is refused, to be sent again. */
export const MAXIMUM_PENDING = 1000
const RETRY_AFTER_SECONDS = '1'

interface Remembered {
  readonly keys: readonly string[]
  readonly isCurrent: () => boolean
}

export class TokenKeys {
  readonly #parts: TokenKeysParts
  /** By issuer; several when one signs with several sets. */
  readonly #issuers: ReadonlyMap<unknown, readonly IssuerTokens[]>
  /** The keys of the issuers, by issuer and place. */
  readonly #signers = new Map<string, IssuerKeys>()
  readonly #memory = new TokenMemory<Remembered>()
  /** Verifications that run, by the hash of the token. */
  readonly #pending = new Map<string, Promise<TokenFinding>>()

  /** @param before earlier ones: an issuer that stays continues with the keys that it has */
  constructor(parts: TokenKeysParts, before: TokenKeys | null = null) {
    this.#parts = parts
    const issuers = Map.groupBy(parts.keys, ({ identity }) => identity.issuer)
    this.#issuers = new Map(
      [...issuers].map(([issuer, keys]) => [issuer, this.#tokensOf(issuer, keys, before)]),
    )
  }

  /** Number of tokens that are remembered. */
  get remembered(): number {
    return this.#memory.size
  }

  /** Asks for the keys of the issuers. */
  start(): void {
    for (const keys of this.#signers.values()) keys.start()
    void loadVerification()
  }

  /** @param next later ones: an issuer that stays goes to them */
  close(next: TokenKeys | null = null): void {
    for (const [place, keys] of this.#signers)
      if (next === null || next.#signers.get(place) !== keys) keys.close()
  }

  /** Counts a call that was refused because of its token. */
  refused(check: TokenCheck): void {
    this.#parts.onRefused(check)
  }

  /**
   * Returns what a text stands for; a promise of it when it has to be verified.
   * @throws GatewayError (rejects) `overloaded` while MAXIMUM_PENDING are being verified
   */
  find(token: string): TokenFinding | Promise<TokenFinding> {
    if (token.length > MAXIMUM_TOKEN_CHARACTERS) return 'malformed'
    const hashed = hashToken(token)
    const known = this.#memory.find(hashed, this.#parts.clock.now())
    if (known?.isCurrent() === true) return known.keys
    const running = this.#pending.get(hashed)
    if (running !== undefined) return running
    const ready = this.#prepare(token)
    if (typeof ready === 'string') return ready
    if (this.#pending.size >= MAXIMUM_PENDING) return Promise.reject(overloaded())
    const finding = ready(hashed).finally(() => this.#pending.delete(hashed))
    this.#pending.set(hashed, finding)
    return finding
  }

  /** Returns how to verify a text, or what already shows that it need not be. */
  #prepare(token: string): TokenCheck | ((hashed: string) => Promise<TokenFinding>) {
    try {
      const unverified = readUnverified(token)
      const issuers = this.#issuers.get(unverified.issuer)
      if (issuers === undefined) return 'issuer'
      if (!TOKEN_ALGORITHMS.some((one) => one === unverified.algorithm)) return 'algorithm'
      if (typeof unverified.keyId !== 'string') return 'malformed'
      return async (hashed) => {
        const results = await Promise.all(issuers.map((one) => one.verify(token, unverified).catch(checkOf)))
        return this.#conclude(hashed, issuers, results)
      }
    } catch (error) {
      return checkOf(error)
    }
  }

  #conclude(
    hashed: string,
    issuers: readonly IssuerTokens[],
    results: readonly (TokenResult | TokenCheck)[],
  ): TokenFinding {
    const verified = results.flatMap((one, index) =>
      typeof one === 'string' ? [] : [{ ...one, signer: issuers[index]!.keys }],
    )
    const [first] = verified
    if (first === undefined) {
      const checks = results.filter((one) => typeof one === 'string')
      // An issuer may have several sets; only the one that signed the token says why.
      return checks.find((one) => !NOT_SIGNED.has(one)) ?? checks[0]!
    }
    const keys = verified.flatMap((one) => one.keys)
    const isCurrent = () => verified.every(({ signer, keySet }) => signer.current() === keySet)
    if (isCurrent())
      this.#memory.keep(hashed, { keys, isCurrent }, Math.min(...verified.map(({ endMs }) => endMs)))
    return keys
  }

  #tokensOf(issuer: string, keys: readonly TokenKey[], before: TokenKeys | null): readonly IssuerTokens[] {
    const places = Map.groupBy(keys, ({ identity }) => identity.keySet!.place)
    return [...places.values()].map((ones) => {
      const source = ones[0]!.identity.keySet!
      const at = JSON.stringify([issuer, source.place])
      const known = before === null ? undefined : before.#signers.get(at)
      const signer = known ?? this.#keysAt(issuer, source)
      signer.onChange = () => this.#memory.clear()
      this.#signers.set(at, signer)
      return new IssuerTokens(issuer, ones, signer, this.#parts.clock)
    })
  }

  #keysAt(issuer: string, { place, file }: KeySetSource): IssuerKeys {
    const { clock, timers, onLoad, request = requestKeySet } = this.#parts
    if (file === null)
      return new UrlKeys({
        ...{ url: place, request, clock, timers },
        onLoad: (problem) => onLoad(issuer, place, problem),
      })
    file.onTurn((problem) => onLoad(issuer, place, problem))
    return new FileKeys(file)
  }
}

const overloaded = (): GatewayError =>
  new GatewayError('overloaded', 'Too many tokens are being verified; send the call again.', {
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
  })

const NOT_SIGNED: ReadonlySet<TokenCheck> = new Set(['key', 'algorithm', 'signature', 'no_keys'])

/** @throws any error but that of a token */
function checkOf(error: unknown): TokenCheck {
  if (error instanceof RefusedToken) return error.check
  throw error
}
