// Reads `Host`, `Origin` and the headers of proxies: names, IPv6 literals, the dot of the DNS root,
// default ports, and whether the client uses TLS.

import type { IncomingHttpHeaders } from 'node:http'
import { isIPv6 } from 'node:net'

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+?)\.?(?::([0-9]*))?$/i
const LOOPBACK = /^(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])$/

/** A `Host` in its canonical spelling. */
interface HostParts {
  /** In lower case, without a final dot. An IPv6 address is in brackets, as in RFC 5952. */
  readonly name: string
  /** Empty without one. */
  readonly port: string
}

/** Returns the canonical form of an IPv6 address (RFC 5952); null for any other text. */
export const formatIPv6 = (address: string): string | null =>
  isIPv6(address) ? (URL.parse(`http://[${address}]`)?.hostname.slice(1, -1) ?? null) : null

/** Returns the canonical name of an entry of admin.allowedHosts; null for an invalid one. */
export const allowedName = (entry: string): string | null =>
  parseHost(isIPv6(entry) ? `[${entry}]` : entry)?.name ?? null

/** Parses a `Host` (RFC 9110 §7.2); null for an invalid one. */
export function parseHost(text: string): HostParts | null {
  const [, name, port = ''] = HOST.exec(text) ?? []
  if (name === undefined) return null
  if (!name.startsWith('[')) return { name: name.toLowerCase(), port }
  const inside = formatIPv6(name.slice(1, -1))
  return inside === null ? null : { name: `[${inside}]`, port }
}

export const isLoopback = ({ name }: HostParts): boolean => LOOPBACK.test(name)

/**
 * Reports whether an `Origin` is that of the host. A port may be left out in either when it is the
 * default of the origin's scheme.
 */
export function isOriginOf(origin: string, { name, port }: HostParts): boolean {
  const url = URL.parse(origin)
  const own = URL.parse(`${url?.protocol}//${name}${port === '' ? '' : `:${port}`}`)
  if (url === null || own === null) return false
  return own.host !== '' && url.host.replace(/\.(?=:[0-9]+$|$)/, '') === own.host
}

/** The first element of `Forwarded` (RFC 7239 §4) with `proto=https`. */
const FORWARDED_TLS = /^(?:[^,"]|"(?:[^"\\]|\\.)*")*?(?<=^|[;\s])proto=(?:https|"https")\s*(?:[;,]|$)/i

/**
 * Whether the client uses TLS, as a proxy or its browser reports. With several proxies the first
 * value is the client's. The origin check has compared `Origin` with `Host`.
 */
export const overTls = (headers: IncomingHttpHeaders): boolean =>
  /^ *https *(?:,|$)/i.test(String(headers['x-forwarded-proto'] ?? '')) ||
  FORWARDED_TLS.test(String(headers['forwarded'] ?? '')) ||
  headers.origin?.toLowerCase().startsWith('https://') === true
