// Finds passwords in URLs: `https://name:password@host`.

import { APOSTROPHE, AT_SIGN, LESS_THAN, QUOTE, SLASH, SPACE } from '../../../core/ascii.ts'
import { codeAt } from '../code-unit-classes.ts'
import type { Segment } from '../engine/segment.ts'
import { NO_PASSWORD, PLACEHOLDER } from './randomness.ts'

/**
 * The password between a user name and the host: `https://name:password@host` (RFC 3986 §3.2.1).
 */
const USER_INFO = /\/\/(?<user>[^\s/@:"'<>]{0,64}):(?<password>[^\s/"'<>]{4,128})$/
const MAXIMUM_USER_INFO = 200
/** Not allowed there, as in `//x:link[@href]` (RFC 3986 §3.2.1), and signs of variables. */
const NO_USER_INFO = /[[\]{}\\|^`]|^\$\w+$|^%\(|^\*+$/
/** Names of services and users, which are passwords on the machines of developers. */
const LOCAL_PASSWORD =
  /^(?:postgres(?:ql)?|guest|root|admin|minio(?:admin)?|mysql|mariadb|mongo|redis|rabbit(?:mq)?|docker|local|dev|test|demo|app|foo|bar|changeme|anoncvs|pserver:anoncvs)\d{0,3}$/i

/**
 * Adds the password before the `@` of a URL.
 * @param at of the `@` before a host
 * @param from where the search back for `//` starts; a password may contain what lies between
 * @returns the offset after the last `@`; 0 if no password was added
 */
export function scanUserInfo(segment: Segment, at: number, from: number): number {
  const { text } = segment
  let start = from
  while (start > segment.end && at - start < MAXIMUM_USER_INFO && isUserInfo(text.charCodeAt(start - 1)))
    start--
  if (codeAt(text, start - 1) !== SLASH || codeAt(text, start - 2) !== SLASH) return 0
  const sign = lastSign(text, at)
  const { user, password } = USER_INFO.exec(text.slice(start - 2, sign))?.groups ?? {}
  if (password === undefined || NO_USER_INFO.test(password) || PLACEHOLDER.test(password)) return 0
  if (NO_PASSWORD.test(password) || LOCAL_PASSWORD.test(password) || password === user) return 0
  return segment.add('secret', sign - password.length, sign) ? sign + 1 : 0
}

/** The last `@` before the path of a URL: a password may contain others. */
function lastSign(text: string, at: number): number {
  let sign = at
  for (let next = at + 1; next - at < MAXIMUM_USER_INFO; next++) {
    const code = codeAt(text, next)
    if (code === AT_SIGN) sign = next
    else if (!isUserInfo(code) || code === QUOTE || code === APOSTROPHE || code === LESS_THAN) break
  }
  return sign
}

const isUserInfo = (code: number): boolean => code > SPACE && code !== SLASH && code !== AT_SIGN
