// The path below which browsers see the gateway, when a proxy serves it there: for the console, the
// management API and single sign-on. Programs call the other paths directly.

import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'

const HEADER = 'x-forwarded-prefix'
/** As the schema has it; the header may end with a slash. */
const FORM = /^(?:\/(?:\.?[A-Za-z0-9_~-][A-Za-z0-9._~-]*|\.\.[A-Za-z0-9._~-]+)){1,8}$/
const MAXIMUM_CHARACTERS = 128
/** What a proxy may leave the path before. */
const BELOW = /^\/(?:$|console(?:\/|$)|api\/|openapi\.json$)/

export interface BasePathTerms {
  /** Empty for none. */
  readonly basePath: string
  /** IP addresses and networks. */
  readonly trustedProxies: readonly string[]
}

export class BasePath {
  readonly #configured: string
  readonly #trusted = new BlockList()

  constructor({ basePath, trustedProxies }: BasePathTerms) {
    this.#configured = basePath
    for (const one of trustedProxies) {
      const [address = '', length] = one.split('/')
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
      if (length === undefined) this.#trusted.addAddress(address, family)
      else this.#trusted.addSubnet(address, Number(length), family)
    }
  }

  /**
   * Returns the path of a request, empty for none.
   * @param address of the client or the proxy that sent it
   */
  of(headers: IncomingHttpHeaders, address: string): string {
    const header = headers[HEADER]
    if (header === undefined || !this.#trusts(address)) return this.#configured
    // Proxies in a row each add theirs, the outermost first.
    const path = String(header)
      .split(',')
      .map((part) => part.trim().replace(/\/+$/, ''))
      .join('')
    return path.length <= MAXIMUM_CHARACTERS && FORM.test(path) ? path : this.#configured
  }

  /** Returns a path of a browser without the base path; any other path as it is. */
  below(base: string, path: string): string {
    if (base === '' || !path.startsWith(base)) return path
    const rest = path.slice(base.length) || '/'
    return BELOW.test(rest) ? rest : path
  }

  #trusts(address: string): boolean {
    const version = isIP(address)
    return version !== 0 && this.#trusted.check(address, version === 6 ? 'ipv6' : 'ipv4')
  }
}
