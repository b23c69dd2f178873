// An identity provider that speaks OpenID Connect: discovery, the authorization code flow with PKCE
// and the check of id tokens. The only file that imports `openid-client`, and only when somebody
// signs in: a gateway without single sign-on never evaluates it.

import type * as OpenId from 'openid-client'
import type { Clock, Milliseconds } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import type { OidcConfig } from '../core/oidc-config.ts'
import { type BegunLogin, type IdentityProvider, ProviderFailure } from '../server/identity-provider.ts'
import type { LoginChecks } from '../server/login-cookie.ts'

/** For each request to the provider. */
const TIMEOUT_SECONDS = 10
/** Longest answer of the provider that is read. */
const MAX_ANSWER_BYTES = 1024 * 1024
/** Time for which the provider's metadata is remembered. */
const REMEMBERED_MS: Milliseconds = 10 * 60_000
/** Time for which a failure to get it is remembered: a flood asks a dead provider rarely. */
const FAILED_MS: Milliseconds = 1000

/** Scopes that bring groups and names at some providers. */
const USUAL_SCOPES = ['profile', 'groups']

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
      const { groupsClaim, actorClaim } = this.#config
      const isComplete = [groupsClaim, actorClaim].every((name) => Object.hasOwn(claims, name))
      if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined)
        return claims as JsonObject
      // Some providers keep id tokens short (OpenID Connect Core 1.0 §5.4).
      const more = await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)
      return { ...more, ...claims } as JsonObject
    } catch (error) {
      throw failureOf(error)
    }
  }

  /** Only scopes that the provider lists: some refuse others. */
  #scopes(configuration: OpenId.Configuration): string[] {
    const { groupsClaim, actorClaim } = this.#config
    const known = configuration.serverMetadata().scopes_supported ?? []
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
    const configuration = await client.discovery(issuer, clientId, {}, this.#authentication(client), {
      // Signatures of id tokens are checked although they arrive over TLS.
      execute: [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])],
      timeout: TIMEOUT_SECONDS,
      [client.customFetch]: boundedFetch,
    })
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

/** `fetch` that fails once an answer is longer than MAX_ANSWER_BYTES. */
const boundedFetch: OpenId.CustomFetch = async (url, { body, ...options }) => {
  const response = await fetch(url, { ...options, body: body ?? null })
  let bytes = 0
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length
      if (bytes > MAX_ANSWER_BYTES) controller.error(new ProviderFailure('invalid', 'answer_too_long'))
      else controller.enqueue(chunk)
    },
  })
  return new Response(response.body?.pipeThrough(limit) ?? null, response)
}

/** What went wrong, without texts of the provider: it may repeat what it was sent. */
function failureOf(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error
  const { name, code, cause, error: theirs } = error as FailedRequest
  switch (name) {
    case 'AuthorizationResponseError':
      return new ProviderFailure(theirs === 'access_denied' ? 'denied' : 'refused', asCode(theirs))
    case 'ResponseBodyError':
      return new ProviderFailure('refused', asCode(theirs))
    case 'WWWAuthenticateChallengeError':
      return new ProviderFailure('refused', 'challenge')
  }
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
  /** An error of the system, or an answer. */
  readonly cause?: { readonly code?: string; readonly status?: number } | undefined
}

const asCode = (text: string | undefined): string =>
  text !== undefined && CODE.test(text) ? text : 'unknown'
