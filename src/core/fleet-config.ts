// Reads the `fleet` section of the configuration, and checks what the schema cannot.

import { type Context, isLoopbackUrl, readSecret, type SecretReference } from './config-values.ts'
import type { ON_UNSHIPPABLE, SHIPPED_PARTS, STARTS_WITHOUT_HUB } from './fleet-section.ts'
import type { Secret } from './secret.ts'

/** How a gateway connects to hubs. */
export interface FleetConfig {
  /** Origins, at least one. */
  readonly hubs: readonly string[]
  /** PEM; null for the authorities of the system. */
  readonly ca: Secret | null
  /** A ServiceAccount token. Null when a join token is declared. */
  readonly token: Secret | null
  readonly joinToken: Secret | null
  readonly maxStaleSeconds: number
  readonly startWithoutHub: (typeof STARTS_WITHOUT_HUB)[number]
  /** What is sent of the usage log. */
  readonly ship: (typeof SHIPPED_PARTS)[number]
  /** What happens when entries that no hub has fill the store. */
  readonly onUnshippable: (typeof ON_UNSHIPPABLE)[number]
}

export interface DeclaredFleet extends Omit<FleetConfig, 'ca' | 'token' | 'joinToken'> {
  readonly ca?: SecretReference
  readonly token?: SecretReference
  readonly joinToken?: SecretReference
}

const CA_HINT = 'mount the certificate of the authority'
const TOKEN_HINT =
  'mount a projected ServiceAccount token with the audience of the hubs, or use joinToken outside Kubernetes'
const JOIN_HINT = 'create one at the hub: POST /api/v1/fleet/tokens'

/** Returns null without the section. Reports errors to the context. */
export function readFleet(context: Context, declared: DeclaredFleet | undefined): FleetConfig | null {
  if (declared === undefined) return null
  const { ca, token, joinToken, hubs = [], ...others } = declared
  const add = (path: readonly (string | number)[], message: string) => {
    if (!context.isFaulty(['fleet', ...path])) context.add(['fleet', ...path], message)
  }
  hubs.forEach((hub, index) => {
    const reason = whyNotHub(hub)
    if (reason !== null) add(['hubs', index], reason)
  })
  if ((token === undefined) === (joinToken === undefined))
    add([], 'needs either token, for a Pod, or joinToken, outside Kubernetes')
  return {
    ...others,
    hubs: hubs.map((hub) => URL.parse(hub)?.origin ?? hub),
    ca: readSecret(context, ['fleet', 'ca'], ca, CA_HINT),
    token: readSecret(context, ['fleet', 'token'], token, TOKEN_HINT),
    joinToken: readSecret(context, ['fleet', 'joinToken'], joinToken, JOIN_HINT),
  }
}

function whyNotHub(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'is not a URL like https://sidegate-hub:8494'
  if (`${url.username}${url.password}${url.search}${url.hash}` !== '' || url.pathname !== '/')
    return 'must have no path, query or credential'
  return url.protocol === 'http:' && !isLoopbackUrl(text)
    ? 'must use https: keys and tokens must not cross a network in clear'
    : null
}
