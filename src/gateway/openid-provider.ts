// An identity provider that speaks OpenID Connect: discovery, the authorization code flow with PKCE
// and the check of id tokens. The only file that imports `openid-client`, and only when somebody
// signs in: a gateway without single sign-on never evaluates it.

import type * as OpenId from 'openid-client'
import { claimAt } from '../core/claim-path.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import type { OidcConfig } from '../core/oidc-config.ts'
import { type BegunLogin, type IdentityProvider, ProviderFailure } from '../server/identity-provider.ts'
import type { LoginChecks } from '../server/login-cookie.ts'

/** For each request to the provider. */
const TIMEOUT_SECONDS = 10
/** Difference of the clocks that is accepted. */
const SKEW_SECONDS = 60
/** Longest answer of the provider that is read. */
const MAXIMUM_ANSWER_BYTES = 1024 * 1024
/** Time for which the provider's metadata is remembered. */
const REMEMBERED_MS: Milliseconds = 10 * 60_000
/** Time for which a failure to get it is remembered: a flood asks a dead provider rarely. */
const FAILED_MS: Milliseconds = 1000

/** Scopes that bring groups and names at some providers. */
const USUAL_SCOPES = ['profile', 'groups']

/** Longest issuer that a log line names. */
const MAXIMUM_ISSUER_CHARACTERS = 256

/** A code of OAuth 2.0 or of the system, which is no text of anyone. */
const CODE = /^\w{1,64}$/

interface Discovered {
  readonly client: typeof OpenId
  readonly configuration: OpenId.Configuration
}

interface Discovery {
  readonly result: Promise<Discovered>
  endMs: Milliseconds
}

export class OpenIdProvider implements IdentityProvider {
  readonly #config: OidcConfig
  readonly #clock: Clock
  /** The newest attempt. Sign-ins at the same time share it. */
  #discovery: Discovery | null = null

  constructor(config: OidcConfig, clock: Clock) {
    this.#config = config
    this.#clock = clock
  }

  async begin(redirectUri: string): Promise<BegunLogin> {
    try {
      const { client, configuration } = await this.#discovered()
      const checks: LoginChecks = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      }
      const address = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: this.#scopes(configuration).join(' '),
        code_challenge: await client.calculatePKCECodeChallenge(checks.verifier),
        code_challenge_method: 'S256',
        state: checks.state,
        nonce: checks.nonce,
      })
      return { address: address.href, checks }
    } catch (error) {
      throw failureOf(error)
    }
  }

  async finish(answer: URL, { state, nonce, verifier }: LoginChecks): Promise<JsonObject> {
    if (!isAnswer(answer.searchParams)) throw new ProviderFailure('foreign', 'malformed answer')
    try {
      const { client, configuration } = await this.#discovered()
      const tokens = await client.authorizationCodeGrant(configuration, answer, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (claims === undefined) throw new ProviderFailure('invalid', 'no id token')
      // A token that another client got for this one (OpenID Connect Core 1.0 §3.1.3.7, 5.).
      if (claims['azp'] !== undefined && claims['azp'] !== this.#config.clientId)
        throw new ProviderFailure('invalid', 'azp of another client')
      const { groupsClaim, actorClaim } = this.#config
      const isComplete = [groupsClaim, actorClaim].every(
        (name) => claimAt(claims as JsonObject, name) !== undefined,
      )
      if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined)
        return claims as JsonObject
      // Some providers keep id tokens short (OpenID Connect Core 1.0 §5.4).
      const more = await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)
      return { ...more, ...claims } as JsonObject
    } catch (error) {
      throw failureOf(error)
    }
  }

  /**
   * Only scopes that the provider lists, because some refuse others. One that lists none ignores
   * those that it does not know (OpenID Connect Core 1.0 §3.1.2.1).
   */
  #scopes(configuration: OpenId.Configuration): string[] {
    const { groupsClaim, actorClaim } = this.#config
    const known = configuration.serverMetadata().scopes_supported ?? USUAL_SCOPES
    const wanted = new Set([...USUAL_SCOPES, groupsClaim, actorClaim])
    return ['openid', ...[...wanted].filter((scope) => scope !== 'openid' && known.includes(scope))]
  }

  #discovered(): Promise<Discovered> {
    if (this.#discovery === null || this.#clock.monotonic() >= this.#discovery.endMs) {
      const discovery: Discovery = { result: this.#discover(), endMs: Number.POSITIVE_INFINITY }
      const rememberFor = (ms: Milliseconds) => () => {
        discovery.endMs = this.#clock.monotonic() + ms
      }
      discovery.result.then(rememberFor(REMEMBERED_MS), rememberFor(FAILED_MS))
      this.#discovery = discovery
    }
    return this.#discovery.result
  }

  async #discover(): Promise<Discovered> {
    const client = await import('openid-client')
    const { clientId } = this.#config
    const issuer = new URL(this.#config.issuer)
    // The configuration allows it on this machine only.
    const isPlain = issuer.protocol === 'http:'
    const terms = { [client.clockTolerance]: SKEW_SECONDS }
    const authentication = this.#authentication(client)
    const options: OpenId.DiscoveryRequestOptions = {
      // Signatures of id tokens are checked although they arrive over TLS.
      execute: [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])],
      timeout: TIMEOUT_SECONDS,
      [client.customFetch]: boundedFetch,
    }
    const discovered = await client.discovery(issuer, clientId, terms, authentication, options)
    const { supportsPKCE: _, ...metadata } = discovered.serverMetadata()
    // A provider that signs claims at userinfo need not list how; it signs as it does id tokens.
    const { id_token_signing_alg_values_supported: algorithms = ['RS256'] } = metadata
    const configuration = new client.Configuration(
      { userinfo_signing_alg_values_supported: algorithms, ...metadata },
      clientId,
      terms,
      authentication,
    )
    configuration.timeout = TIMEOUT_SECONDS
    configuration[client.customFetch] = boundedFetch
    for (const extend of options.execute ?? []) extend(configuration)
    return { client, configuration }
  }

  /** Reads the secret for each request, because its file may change. */
  #authentication(client: typeof OpenId): OpenId.ClientAuth {
    return (server, ...request) => {
      const secret = this.#config.clientSecret?.current() ?? ''
      // The default of RFC 8414 §2 is the header.
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const authentication = methods.includes('client_secret_basic')
        ? client.ClientSecretBasic(secret)
        : client.ClientSecretPost(secret)
      authentication(server, ...request)
    }
  }
}

/** `fetch` that fails once an answer is longer than MAXIMUM_ANSWER_BYTES. */
const boundedFetch: OpenId.CustomFetch = async (url, { body, ...options }) => {
  const response = await fetch(url, { ...options, body: body ?? null })
  let bytes = 0
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length
      if (bytes > MAXIMUM_ANSWER_BYTES) controller.error(new ProviderFailure('invalid', 'answer_too_long'))
      else controller.enqueue(chunk)
    },
  })
  return new Response(response.body?.pipeThrough(limit) ?? null, response)
}

/** What went wrong, without texts of the provider: it may repeat what it was sent. */
function failureOf(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error
  const { name, code, cause, error: theirs } = error as FailedRequest
  const mismatch = issuerMismatch(error as FailedRequest)
  if (mismatch !== null) return new ProviderFailure('invalid', mismatch)
  switch (name) {
    case 'AuthorizationResponseError':
      return new ProviderFailure(theirs === 'access_denied' ? 'denied' : 'refused', asCode(theirs))
    case 'ResponseBodyError':
      // The code is not of this sign-in, or was redeemed (RFC 6749 §5.2).
      if (theirs === 'invalid_grant') return new ProviderFailure('foreign', theirs)
      return new ProviderFailure('refused', asCode(theirs))
    case 'WWWAuthenticateChallengeError':
      return new ProviderFailure('refused', 'challenge')
  }
  // The library refused the query of the answer, which the browser brought.
  if (cause?.cause?.parameters instanceof URLSearchParams) return new ProviderFailure('foreign', asCode(code))
  if (code === 'OAUTH_TIMEOUT') return new ProviderFailure('unreachable', code)
  const { status = 0, code: system } = cause ?? {}
  if (status >= 500) return new ProviderFailure('unreachable', `status_${status}`)
  if (status > 0) return new ProviderFailure('invalid', `status_${status}`)
  if (name === 'TypeError' && system !== undefined) return new ProviderFailure('unreachable', asCode(system))
  return new ProviderFailure('invalid', asCode(code))
}

/** An error of the library or of `fetch`. */
interface FailedRequest {
  readonly name?: string
  readonly code?: string
  /** Code of OAuth 2.0. */
  readonly error?: string
  readonly cause?: FailureCause | undefined
}

/**
 * An error of the system, an answer, a comparison that failed, or an error with one as its cause.
 */
interface FailureCause {
  readonly code?: string
  readonly status?: number
  readonly cause?: FailureCause
  /** Query of the answer. */
  readonly parameters?: unknown
  /** Member of the metadata, or claim, that was compared. */
  readonly attribute?: string
  readonly claim?: string
  readonly expected?: unknown
  readonly body?: { readonly issuer?: unknown }
  readonly claims?: { readonly iss?: unknown }
}

/** Names both issuers when the provider's is not the configured one; null for any other error. */
function issuerMismatch({ cause }: FailedRequest): string | null {
  const { attribute, claim, expected, body, claims } = cause?.cause ?? cause ?? {}
  const given = attribute === 'issuer' ? body?.issuer : claim === 'iss' ? claims?.iss : undefined
  if (given === undefined) return null
  return `the issuer is ${asAddress(given)}, and admin.oidc.issuer is ${asAddress(expected)}`
}

/** A URL without credentials and query, or `unknown`: a provider may send any text. */
function asAddress(text: unknown): string {
  const url = typeof text === 'string' && text.length <= MAXIMUM_ISSUER_CHARACTERS ? URL.parse(text) : null
  return url === null ? 'unknown' : `${url.protocol}//${url.host}${url.pathname}`
}

/** Reports whether a query is an answer of the code flow (RFC 6749 §4.1.2): each member once. */
const isAnswer = (query: URLSearchParams): boolean =>
  ['code', 'error', 'state', 'iss'].every((name) => query.getAll(name).length <= 1) &&
  (query.has('code') || query.has('error')) &&
  !['token', 'id_token', 'response'].some((name) => query.has(name))

const asCode = (text: string | undefined): string =>
  text !== undefined && CODE.test(text) ? text : 'unknown'
