// A real OpenID Connect provider with a few people, and a browser that keeps cookies and follows
// redirects from the gateway to the provider and back.

import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import type { Test } from 'tap'
import { fetchInTime } from './until.ts'

export const CLIENT_ID = 'sidegate'
/** With characters that a form and a header encode. */
export const CLIENT_SECRET = 'secret+of/the gateway%for&tests'
export const START = '/api/v1/session/oidc'
export const CALLBACK = `${START}/callback`

const INTERACTION = '/interaction/'
const KEY = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' })

/** Claims by subject. */
export type People = Readonly<Record<string, object>>

export interface TestProvider {
  readonly issuer: string
  /** Who sits before the browser: a subject, or null for somebody who refuses. */
  person: string | null
  /** Answers 503 instead. */
  isDown: boolean
  /** Number of requests for the metadata. */
  discoveries: number
  /** Serves a gateway at the URL. @param inIdToken whether claims are in the id token, or at userinfo only */
  serve(gatewayUrl: string, people: People, inIdToken?: boolean): void
}

/** Opens a provider until the end of the test. It is down until it serves a gateway. */
export async function openProvider(t: Pick<Test, 'teardown'>): Promise<TestProvider> {
  let provider: Provider | null = null
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    if (path.startsWith('/.well-known/')) one.discoveries++
    if (provider === null || one.isDown) {
      response.writeHead(503).end()
      return
    }
    if (!path.startsWith(INTERACTION)) {
      await provider.callback()(request, response)
      return
    }
    const refusal = { error: 'access_denied', error_description: '<script>alert(1)</script>' }
    const result = one.person === null ? refusal : { login: { accountId: one.person } }
    await provider.interactionFinished(request, response, result)
  }

  const one: TestProvider = {
    issuer,
    person: null,
    isDown: false,
    discoveries: 0,
    serve(gatewayUrl, people, inIdToken = true) {
      provider = new Provider(issuer, configurationOf(`${gatewayUrl}${CALLBACK}`, people, inIdToken))
    },
  }
  return one
}

const configurationOf = (redirectUri: string, people: People, inIdToken: boolean) => ({
  clients: [
    {
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
  ],
  claims: {
    openid: ['sub'],
    groups: ['groups', 'realm_access', '_claim_names'],
    profile: ['preferred_username'],
  },
  conformIdTokenClaims: !inIdToken,
  cookies: { keys: [randomUUID()] },
  features: { devInteractions: { enabled: false } },
  findAccount: (_: unknown, accountId: string) => ({
    accountId,
    claims: async () => ({ sub: accountId, ...people[accountId] }),
  }),
  interactions: { url: (_: unknown, { uid }: { uid: string }) => `${INTERACTION}${uid}` },
  jwks: { keys: [{ ...KEY, use: 'sig', alg: 'RS256' }] },
  /** Everybody consents. */
  async loadExistingGrant({ oidc }: any) {
    const properties = { clientId: oidc.client.clientId, accountId: oidc.session.accountId }
    const grant = new oidc.provider.Grant(properties)
    grant.addOIDCScope('openid groups profile')
    await grant.save()
    return grant
  },
  pkce: { required: () => true },
  ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
})

export interface Page {
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const MAXIMUM_REDIRECTS = 10

/** Keeps cookies by name and path, and sends them to every host: all are this machine. */
export class Browser {
  readonly #cookies = new Map<string, { readonly pair: string; readonly path: string }>()
  /** Every URL that was opened. */
  readonly visited: string[] = []

  /** Opens one URL and follows nothing. */
  async get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Page> {
    this.visited.push(url)
    const cookie = this.cookiesFor(new URL(url).pathname)
    const response = await fetchInTime(url, { redirect: 'manual', headers: { cookie, ...headers } })
    for (const line of response.headers.getSetCookie()) this.#keep(line)
    return { url, status: response.status, headers: response.headers, text: await response.text() }
  }

  /** Opens a URL and follows redirects until a page or until a URL that `isEnd`. */
  async open(first: string, isEnd: (url: string) => boolean = () => false): Promise<Page> {
    let page = await this.get(first)
    for (let count = 0; count < MAXIMUM_REDIRECTS; count++) {
      const location = page.headers.get('location')
      if (location === null) return page
      const next = new URL(location, page.url).href
      if (isEnd(next)) return { ...page, url: next }
      page = await this.get(next)
    }
    throw new Error(`too many redirects from ${first}`)
  }

  /** The `Cookie` header of a request for a path. */
  cookiesFor(path: string): string {
    return [...this.#cookies.values()]
      .filter((cookie) => path.startsWith(cookie.path))
      .map(({ pair }) => pair)
      .join('; ')
  }

  #keep(line: string): void {
    const [pair = ''] = line.split(';', 1)
    const [name] = pair.split('=', 1)
    const path = /;\s*path=([^;]*)/i.exec(line)?.[1] ?? '/'
    const isOver = /;\s*max-age=0/i.test(line) || /;\s*expires=thu, 01 jan 1970/i.test(line)
    if (isOver) this.#cookies.delete(`${name} ${path}`)
    else this.#cookies.set(`${name} ${path}`, { pair, path })
  }
}
