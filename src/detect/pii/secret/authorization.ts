// Detects credentials after a header and a scheme: `Authorization: Basic …`,
// `Authorization: Bearer …`.

import type { Segment } from '../engine/segment.ts'
import { isRandom, NO_PASSWORD } from './randomness.ts'

const SCHEME = /authorization["']?\]?\s{0,3}(?:[:=]{1,2}>?|,)\s{0,3}["']?(?<scheme>basic|bearer) $/
/** Name, colon and password in base64 (RFC 7617 §2). */
const BASIC_VALUE = /[A-Za-z0-9+/]{15,400}={0,2}(?![A-Za-z0-9+/=])/y
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
const BASIC_CREDENTIALS = /^[^:\p{Cc}]*:(?<password>\P{Cc}{4,})$/u
/** RFC 6750 §2.1. */
const BEARER_VALUE = /[A-Za-z0-9._~+/-]{15,400}={0,2}(?![A-Za-z0-9._~+/=-])/y

/**
 * @param start the offset after the scheme
 * @returns end of the credentials; 0 if there are none
 */
export function scanCredentials(segment: Segment, start: number): number {
  const scheme = SCHEME.exec(segment.windowBefore(start))?.groups?.['scheme']
  if (scheme === undefined) return 0
  const form = scheme === 'basic' ? BASIC_VALUE : BEARER_VALUE
  form.lastIndex = start
  const value = form.exec(segment.text)?.[0]
  if (value === undefined || !(scheme === 'basic' ? decodeBasic(value) : isRandom(value))) return 0
  return segment.add('secret', start, start + value.length) ? start + value.length : 0
}

/** Reports whether it is a name and a password in base64. */
export function decodeBasic(value: string): boolean {
  if (!BASE64.test(value)) return false
  const decoded = BASIC_CREDENTIALS.exec(Buffer.from(value, 'base64').toString())?.groups
  return decoded !== undefined && !NO_PASSWORD.test(decoded['password']!)
}
