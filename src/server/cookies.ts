// Reads and writes cookies (RFC 6265).

/**
 * Returns the value of the cookie with the name; null without one, or with several: a browser sends
 * two when another host of the domain has set one as well.
 */
export function readCookie(header: string | undefined, name: string): string | null {
  const values = readCookies(header).filter((cookie) => cookie.name === name)
  return values.length === 1 ? values[0]!.value : null
}

/** The cookies of a `Cookie` header that have a value, in order. */
export const readCookies = (header: string | undefined): readonly { name: string; value: string }[] =>
  (header?.split(';') ?? []).flatMap((pair) => {
    const [name = '', value = ''] = pair.trim().split('=', 2)
    return value === '' ? [] : [{ name, value }]
  })

export interface CookieTerms {
  readonly sameSite: 'Strict' | 'Lax'
  readonly path: string
  /** 0 deletes the cookie. */
  readonly maxAgeSeconds: number
  /** Sent over TLS only. */
  readonly secure: boolean
}

/** Returns a `Set-Cookie` that no script can read. */
export const formatCookie = (name: string, value: string, terms: CookieTerms): string =>
  `${name}=${value}; HttpOnly; SameSite=${terms.sameSite}; Path=${terms.path}; Max-Age=${terms.maxAgeSeconds}${terms.secure ? '; Secure' : ''}`
