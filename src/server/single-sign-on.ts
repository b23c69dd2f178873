// Single sign-on: leads a browser to the identity provider and back, and opens a session with the
// role of the person's groups. Every answer is a redirect or a page, for people. Knows no protocol.

import type { IncomingHttpHeaders } from 'node:http'
import { whyNotActor } from '../core/actor.ts'
import { ADMIN_ROLES, type AdminRole } from '../core/admin-role.ts'
import { claimAt } from '../core/claim-path.ts'
import type { Clock } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { OidcConfig } from '../core/oidc-config.ts'
import type { ApiAnswer, ApiRequest } from './api.ts'
import { isLeftOut, namesOf } from './claims.ts'
import { overTls, parseHost } from './host.ts'
import { type IdentityProvider, ProviderFailure, type ProviderFailureKind } from './identity-provider.ts'
import { LOGIN_PATH, LoginCookie, type PendingLogin } from './login-cookie.ts'
import { returnPath } from './return-path.ts'
import type { Gatekeeper } from './session.ts'
import type { SignInFailure, SignInJournal } from './sign-in-journal.ts'
import { signInPage } from './sign-in-page.ts'

/** Groups that a page names, and characters of each. */
const MAXIMUM_SHOWN_GROUPS = 20
const MAXIMUM_SHOWN_CHARACTERS = 100

const againAt = (base: string) => ({ path: base + LOGIN_PATH, label: 'Sign in again' })

interface SingleSignOnParts {
  readonly terms: Pick<OidcConfig, 'groupsClaim' | 'actorClaim' | 'roles'>
  readonly provider: IdentityProvider
  readonly gatekeeper: Gatekeeper
  readonly journal: SignInJournal
  readonly clock: Clock
  /** As in LoginCookie. */
  readonly loginKey: Buffer
}

export class SingleSignOn {
  readonly #parts: SingleSignOnParts
  readonly #cookie: LoginCookie

  constructor(parts: SingleSignOnParts) {
    this.#parts = parts
    this.#cookie = new LoginCookie(parts.clock, parts.loginKey)
  }

  /** Leads to the provider. `?return=` names the page of the console to open at the end. */
  async start(request: ApiRequest): Promise<ApiAnswer> {
    const { headers, search, base } = request
    const redirectUri = redirectUriOf(headers, base)
    const returnTo = returnPath(new URLSearchParams(search).get('return'), base)
    try {
      const begun = await this.#parts.provider.begin(redirectUri)
      const secure = overTls(headers)
      const cookies = [
        ...this.#cookie.makeRoom(headers.cookie, secure, base),
        this.#cookie.seal({ ...begun.checks, redirectUri, returnTo }, secure, base),
      ]
      return {
        status: 302,
        body: null,
        headers: { location: begun.address, 'set-cookie': cookies },
        text: { type: 'text/plain; charset=utf-8', content: '' },
      }
    } catch (error) {
      return this.#providerFailed(request, error)
    }
  }

  /**
   * Answers the browser that the provider leads back. A page, because a `SameSite=Strict` cookie is
   * not sent along redirects that began on another site.
   */
  async finish(request: ApiRequest): Promise<ApiAnswer> {
    const { headers, address, search, base } = request
    const state = new URLSearchParams(search).get('state') ?? ''
    const login = this.#cookie.open(headers.cookie, state)
    // Checked before an attempt is counted: another site could make the browser use up the attempts
    // of its address. No cookie is cleared: a forged answer must not end a sign-in under way.
    if (login === null) {
      // A browser that reloads the answer, or goes back to it, is signed in already.
      if ((await this.#parts.gatekeeper.find(headers)) !== null) return signedInPage(returnPath(null, base))
      return this.#fail(request, 400, 'oidc_failed', NOT_BEGUN, 'no sign-in under way')
    }
    try {
      await this.#parts.gatekeeper.countPerson(address)
    } catch (error) {
      return refusalPage(error, base)
    }
    return withCookie(await this.#redeem(request, login), this.#cookie.clear(state, overTls(headers), base))
  }

  async #redeem(request: ApiRequest, login: PendingLogin): Promise<ApiAnswer> {
    const { gatekeeper, provider } = this.#parts
    const { search } = request
    try {
      const claims = await provider.finish(new URL(`${login.redirectUri}?${search}`), login)
      const person = await this.#admit(claims, request)
      if ('status' in person) return person
      const { cookie } = await gatekeeper.signInPerson(person, request)
      return signedInPage(login.returnTo, [cookie])
    } catch (error) {
      return error instanceof GatewayError
        ? refusalPage(error, request.base)
        : this.#providerFailed(request, error)
    }
  }

  /** Returns name and role of a person, or the page that says why the person has none. */
  async #admit(
    claims: JsonObject,
    request: ApiRequest,
  ): Promise<{ readonly name: string; readonly role: AdminRole } | ApiAnswer> {
    const { groupsClaim, actorClaim, roles } = this.#parts.terms
    const groups = namesOf(claimAt(claims, groupsClaim))
    const held = new Set(groups.map((group) => roles.get(group)))
    const role = ADMIN_ROLES.findLast((one) => held.has(one))
    if (role === undefined) {
      const shown = groups
        .slice(0, MAXIMUM_SHOWN_GROUPS)
        .map((group) => group.slice(0, MAXIMUM_SHOWN_CHARACTERS))
      return this.#fail(request, 403, 'no_role', [
        'None of your groups gives you a role here. Ask an administrator of this gateway to map one of your groups to a role in admin.oidc.roles, or an administrator of the identity provider to add you to a mapped group.',
        groups.length === 0 && isLeftOut(claims, groupsClaim)
          ? `You are in too many groups for the identity provider to name them in the claim ${groupsClaim}. An administrator of it can limit the claim to the groups assigned to this application, or assign app roles and set admin.oidc.groupsClaim to roles.`
          : groups.length === 0
            ? `The identity provider named no groups of yours in the claim ${groupsClaim}.`
            : `Your groups, as the identity provider names them (${shown.length} of ${groups.length}): ${shown.join(', ')}`,
      ])
    }
    const name = claimAt(claims, actorClaim)
    const problem = typeof name === 'string' ? this.#whyNotName(name) : 'is missing or not a text'
    if (typeof name === 'string' && problem === null) return { name, role }
    return this.#fail(request, 403, 'unfit_name', [
      `The log could not name you: the claim ${actorClaim} of the identity provider ${problem}. Ask an administrator of this gateway to choose another claim in admin.oidc.actorClaim.`,
    ])
  }

  #whyNotName(name: string): string | null {
    if (this.#parts.gatekeeper.isTaken(name))
      return 'is the name of an administrator with a token (admin.token or admin.tokens)'
    return whyNotActor(name)
  }

  #providerFailed(request: ApiRequest, error: unknown): Promise<ApiAnswer> {
    if (!(error instanceof ProviderFailure)) throw error
    const { status, text } = PROVIDER_FAILURES[error.kind]
    return this.#fail(request, status, 'oidc_failed', [text], error.message)
  }

  async #fail(
    { address, base }: ApiRequest,
    status: number,
    result: SignInFailure,
    texts: readonly string[],
    reason?: string,
  ): Promise<ApiAnswer> {
    await this.#parts.journal.failed(address, result, 'oidc', reason)
    return signInPage(status, { title: 'Not signed in', texts, link: againAt(base) })
  }
}

/** The page that opens the console. @param cookies each a `Set-Cookie` */
const signedInPage = (path: string, cookies: readonly string[] = []): ApiAnswer =>
  signInPage(
    200,
    { title: 'Signed in', texts: [], link: { path, label: 'Open the console' }, follows: true },
    cookies,
  )

/** An error of the gateway as a page; throws any other. */
function refusalPage(error: unknown, base: string): ApiAnswer {
  if (!(error instanceof GatewayError)) throw error
  const page = signInPage(error.status, {
    title: 'Not signed in',
    texts: [error.message],
    link: againAt(base),
  })
  return { ...page, headers: { ...page.headers, ...error.headers } }
}

/** The page of a gateway without single sign-on. */
export const signOnIsOff = ({ base }: ApiRequest): ApiAnswer =>
  signInPage(404, {
    title: 'Not signed in',
    texts: ['Single sign-on is off. An administrator can set admin.oidc in the configuration.'],
    link: { path: returnPath(null, base), label: 'Open the console' },
  })

const NOT_BEGUN = [
  'This sign-in did not begin in this browser, is over, or took longer than ten minutes. Cookies must be allowed for this site.',
]

interface FailurePage {
  readonly status: number
  readonly text: string
}

const PROVIDER_FAILURES: Readonly<Record<ProviderFailureKind, FailurePage>> = {
  denied: {
    status: 403,
    text: 'The identity provider did not sign you in: you or the provider refused. Ask an administrator of the identity provider whether you may use this application.',
  },
  foreign: {
    status: 400,
    text: 'The answer of the identity provider does not belong to this sign-in, or was used already. Sign in again.',
  },
  refused: {
    status: 502,
    text: 'The identity provider refused the sign-in. An administrator of this gateway finds the reason in its log, and can check admin.oidc in the configuration.',
  },
  unreachable: {
    status: 502,
    text: 'The identity provider cannot be reached from the gateway. Try again later; an administrator of this gateway finds the reason in its log.',
  },
  invalid: {
    status: 502,
    text: 'The answer of the identity provider is not valid. An administrator of this gateway finds the reason in its log, and can check admin.oidc in the configuration.',
  },
}

/** `Host` is among those that the gateway allows, so it leads back to the gateway. */
function redirectUriOf(headers: IncomingHttpHeaders, base: string): string {
  const host = parseHost(headers.host ?? '')
  const port = host?.port ? `:${host.port}` : ''
  return `${overTls(headers) ? 'https' : 'http'}://${host?.name}${port}${base}${LOGIN_PATH}/callback`
}

/** Adds a `Set-Cookie` to a page. */
function withCookie(page: ApiAnswer, cookie: string): ApiAnswer {
  const others = page.headers?.['set-cookie'] ?? []
  return { ...page, headers: { ...page.headers, 'set-cookie': [others, cookie].flat() } }
}
