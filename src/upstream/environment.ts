// Finds settings of the environment and of Node that would expose the credential, client keys or
// texts. They are refused, because each one looks harmless where it is set.

import { accessSync, constants } from 'node:fs'
import { isLoopbackUrl } from '../core/config-values.ts'
import type { Path } from '../core/document.ts'
import { OIDC_PATH, type OidcConfig } from '../core/oidc-config.ts'
import type { RecogniserConfig } from '../core/recogniser-config.ts'
import type { Secret } from '../core/secret.ts'
import type { TokenIdentity } from '../core/token-identity.ts'
import type { UpstreamConfig } from '../core/upstream-config.ts'

/** An option of Node and what it does. */
type UnsafeOption = readonly [option: RegExp, effect: string]

const UNSAFE_OPTIONS: readonly UnsafeOption[] = [
  [/^--inspect(?:-brk|-wait)?$/, 'opens the debugger, which reads and runs everything'],
  [/^--tls-keylog$/, 'writes the keys of TLS connections to a file'],
  [/^--trace-tls$/, 'writes TLS traffic to standard error'],
  [/^--insecure-http-parser$/, 'accepts ambiguous requests'],
  [/^--heapsnapshot-(?:signal|near-heap-limit)$/, 'writes memory with credentials to a file'],
  [/^--heap-prof$/, 'writes memory statistics to a file'],
  [/^--report-(?:on-fatalerror|on-signal|uncaught-exception)$/, 'writes the environment to a file'],
]

/** The process's settings that matter. */
export interface ProcessSettings {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Options of Node on the command line. */
  readonly options: readonly string[]
}

/** A problem at a key of the configuration. */
export interface UnsafeSetting {
  readonly path: Path
  readonly message: string
}

type CheckedUpstream = Pick<UpstreamConfig, 'declaredAt' | 'baseUrl' | 'proxy'>

/** The hosts of a configuration that are trusted because of their certificates. */
export interface TrustedHosts {
  readonly upstreams: readonly CheckedUpstream[]
  readonly keys: readonly { readonly token: Pick<TokenIdentity, 'keySet'> | null }[]
  readonly admin: { readonly oidc: Pick<OidcConfig, 'issuer'> | null }
  readonly recognisers: readonly Pick<RecogniserConfig, 'url'>[]
}

/** Returns every setting that a gateway with this configuration must not start with. */
export function unsafeSettings(
  { upstreams, keys, admin: { oidc }, recognisers }: TrustedHosts,
  { env, options }: ProcessSettings,
): UnsafeSetting[] {
  const found: UnsafeSetting[] = []
  const add = (path: Path, message: string) => found.push({ path, message })
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    const remedy = 'would send the credential to a stranger; unset it and name the CA in NODE_EXTRA_CA_CERTS'
    const message = `environment variable NODE_TLS_REJECT_UNAUTHORIZED=0 ${remedy}`
    for (const { declaredAt, baseUrl, proxy } of upstreams) {
      if (!isLoopbackUrl(baseUrl)) add([...declaredAt, 'baseUrl'], message)
      else if (proxy !== null && !isLoopbackUrl(proxyOf(proxy))) add([...declaredAt, 'proxy'], message)
    }
    // A stranger could sign in as anyone.
    if (oidc !== null && !isLoopbackUrl(oidc.issuer)) add([...OIDC_PATH, 'issuer'], message)
    // And make tokens of anyone.
    for (const { token } of keys)
      if (token?.keySet?.file === null && !isLoopbackUrl(token.keySet.place))
        add([...token.keySet.declaredAt, 'url'], message)
    // And read texts before they are redacted.
    for (const [index, { url }] of recognisers.entries())
      if (!isLoopbackUrl(url)) add(['recognisers', index, 'url'], message)
  }
  const certificates = env['NODE_EXTRA_CA_CERTS'] ?? ''
  if (certificates !== '' && !isReadable(certificates))
    add(
      [...(upstreams[0]?.declaredAt ?? []), 'baseUrl'],
      'the file in environment variable NODE_EXTRA_CA_CERTS cannot be read; Node would ignore it. Correct the path or unset it',
    )
  if ((env['NODE_DEBUG'] ?? '') !== '')
    add([], 'environment variable NODE_DEBUG writes keys and texts to standard error; unset it')
  for (const [where, list] of [
    ['environment variable NODE_OPTIONS', splitOptions(env['NODE_OPTIONS'] ?? '')],
    ['the command line of Node', options],
  ] as const) {
    for (const option of list) {
      const name = option.split('=', 1)[0]!.replaceAll('_', '-')
      const effect = UNSAFE_OPTIONS.find(([pattern]) => pattern.test(name))?.[1]
      if (effect !== undefined) add([], `${name} in ${where} ${effect}; remove it`)
    }
  }
  return found
}

/** NODE_OPTIONS as Node splits it: at spaces, with double quotes around an option that has some. */
const splitOptions = (text: string): string[] => text.split(/[\s"]+/).filter((part) => part.startsWith('-'))

function proxyOf(proxy: Secret): string {
  try {
    return proxy.current()
  } catch {
    return ''
  }
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}
