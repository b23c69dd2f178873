// Reads and writes cookies (RFC 6265).

/** Returns the value of the first cookie with the name that has one; null without any. */
export function readCookie(header: string | undefined, name: string): string | null {
  for (const pair of header?.split(';') ?? []) {
    const [key, value] = pair.trim().split('=', 2)
    if (key === name && value !== undefined && value !== '') return value
  }
  return null
}

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
