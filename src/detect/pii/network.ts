// Detects addresses of machines: IPv4, IPv6 (RFC 4291, with zones of RFC 4007) and MAC addresses
// (IEEE 802).

import { COLON, DIGIT_0, DOT, HYPHEN, isDigit, isHexDigit, SLASH } from '../../core/ascii.ts'
import { codeAt, codesOf, isLetter, isWordAfter, isWordBefore } from './code-unit-classes.ts'
import type { Segment } from './engine/segment.ts'
import { isSharedIpv4, isSharedIpv6 } from './shared-address.ts'
import { isVersion } from './version-number.ts'

const DOTTED = /(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})/y
const THOUSANDS = /^\d{1,3}(?:\.\d{3}){3}$/
const PREFIX_LENGTH = /\/(?:12[0-8]|1[01]\d|[1-9]?\d)(?![\w./])/y
/**
 * @param at of a digit that starts a word
 * @param digitsEnd end of the digits that start there
 * @returns end of the address, or of the dotted run; 0 for neither
 */
export function scanIpv4(segment: Segment, at: number, digitsEnd: number): number {
  const { text } = segment
  if (codeAt(text, digitsEnd) !== DOT || digitsEnd - at > 3 || !isDigit(codeAt(text, digitsEnd + 1))) return 0
  DOTTED.lastIndex = at
  const match = DOTTED.exec(text)
  if (match === null) return 0
  const end = at + match[0].length
  const next = codeAt(text, end)
  if (isWordAfter(text, end)) return 0
  // With a leading zero it is no version, but may be a phone number: `01.23.45.67.89`.
  const zero = codeAt(text, at) === DIGIT_0 && codeAt(text, at + 1) !== DOT
  if (next === DOT && isDigit(codeAt(text, end + 1))) return zero ? 0 : endOfDottedRun(text, end)
  const octets = match.slice(1)
  const usable = octets.every(isOctet) && octets[0] !== '127' && octets[0] !== '0' && octets[0] !== '255'
  // `1.020.345.678` has groups of thousands.
  if (!usable && THOUSANDS.test(match[0])) return 0
  if (!usable || isVersion(segment, at, end, octets)) return end
  const whole = end + prefixLengthAt(text, end)
  if (isSharedIpv4(segment, at, end, octets, prefixOf(text, end, whole))) return whole
  return segment.add('ip_address', at, whole) ? whole : end
}

/** Characters of `/24` at `at`; 0 without it. */
function prefixLengthAt(text: string, at: number): number {
  PREFIX_LENGTH.lastIndex = at
  return PREFIX_LENGTH.exec(text)?.[0].length ?? 0
}

/** The number after the last slash in [start, end); -1 without one. */
function prefixOf(text: string, start: number, end: number): number {
  const slash = text.lastIndexOf('/', end - 1)
  return end > start && slash >= start ? Number(text.slice(slash + 1, end)) : -1
}

const isOctet = (octet: string): boolean => Number(octet) <= 255 && (octet.length === 1 || octet[0] !== '0')

function endOfDottedRun(text: string, at: number): number {
  let end = at
  while (codeAt(text, end) === DOT || isDigit(codeAt(text, end))) end++
  return end
}

const MAXIMUM_IPV6 = 45
const ZONE_AND_PREFIX = /(?:%[A-Za-z0-9_.-]{1,15})?(?:\/(?:12[0-8]|1[01]\d|[1-9]?\d)(?![\w./]))?/y
const MAC = /[0-9A-Fa-f]{2}([:-])[0-9A-Fa-f]{2}(?:\1[0-9A-Fa-f]{2}){4}(?![0-9A-Za-z_]|[:-][0-9A-Fa-f])/y
const DOTTED_MAC = /[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}(?![0-9A-Za-z_]|\.\w)/y
const MAXIMUM_MAC = 17
/** More dotted groups, as in collation tables. */
const DOTTED_BEFORE = codesOf('.*')
/** Broadcast and null addresses. */
const NOT_MAC = /^(?:ff\W?)+$|^(?:00\W?)+$/i

/** Characters of a group in Cisco's form. */
const DOTTED_GROUP = 4
const HEX_LETTER = /[a-f]/i
/** Words for such an address or for what has one. */
const MAC_WORD =
  /(?<![a-z])(?:macs?|mac_?addr\w*|ether\w*|hw_?addr\w*|b?ssid|lladdr|arp|nic|bluetooth|wi-?fi|wlan\d*|eth\d+|dhcp|physical|hardware|adapter|devices?|interface|oui|eui)(?![a-z])/

export const isMacCharacter = (code: number): boolean =>
  isHexDigit(code) || code === COLON || code === HYPHEN || code === DOT

/** Prefilter: reports whether a word may be one of the first groups of a MAC address. */
export function isPartOfMac(text: string, word: number, end: number): boolean {
  const length = end - word
  const separator = codeAt(text, end)
  if (length === 2 ? separator !== HYPHEN && separator !== COLON : length !== 4 || separator !== DOT)
    return false
  return isHexDigit(codeAt(text, end + 1))
}

/**
 * @param inside offset in one of the first two groups
 * @returns end of the address; 0 if there is none
 */
export function scanMac(segment: Segment, inside: number): number {
  const { text } = segment
  let at = inside
  while (at > segment.end && inside - at < MAXIMUM_MAC && isMacCharacter(text.charCodeAt(at - 1))) at--
  return isWordBefore(text, at) ? 0 : macAt(segment, at)
}

function macAt(segment: Segment, at: number): number {
  const { text } = segment
  MAC.lastIndex = at
  DOTTED_MAC.lastIndex = at
  let found = MAC.exec(text)?.[0]
  if (found === undefined) {
    if (DOTTED_BEFORE.has(codeAt(text, at - 1))) return 0
    found = DOTTED_MAC.exec(text)?.[0]
  }
  if (found === undefined || NOT_MAC.test(found)) return 0
  // Pairs of digits are also times, dates and picked numbers.
  if (!HEX_LETTER.test(found)) {
    const isNamed = (codeAt(found, DOTTED_GROUP) === DOT ? /\bmac\b/ : MAC_WORD).test(
      segment.windowBefore(at),
    )
    if (!isNamed) return 0
  }
  const end = at + found.length
  return segment.add('mac_address', at, end) ? end : 0
}

/**
 * @param at of a colon
 * @returns end of the IPv6 or MAC address around it; 0 if there is none
 */
export function scanColons(segment: Segment, at: number): number {
  const { text } = segment
  if (at < segment.colonsEnd) return 0
  let start = at
  while (start > segment.end && at - start < MAXIMUM_IPV6 && isAddressCharacter(text.charCodeAt(start - 1)))
    start--
  // A label may end with a colon directly before the address: `mac:00:1a:…`, `ip:2001:db8::1`.
  if (isWordBefore(text, start)) {
    if (!isLetter(codeAt(text, at - 1)) || /\d/.test(text.slice(start, at))) return 0
    start = at + 1
  }
  if (codeAt(text, start) === COLON && codeAt(text, start + 1) !== COLON) start++
  let end = at + 1
  while (end < text.length && isAddressCharacter(text.charCodeAt(end), true)) end++
  const found = macAt(segment, start) || scanIpv6(segment, start, end)
  // A run that holds no address from here on holds none from a later colon on.
  if (found === 0) segment.colonsEnd = end
  return found
}

function scanIpv6(segment: Segment, start: number, runEnd: number): number {
  const { text } = segment
  if (isWordAfter(text, runEnd)) return 0
  if (!hasColons(text, start, runEnd)) return 0
  let end = runEnd
  while (end > start && (text[end - 1] === '.' || (text[end - 1] === ':' && text[end - 2] !== ':'))) end--
  if (end - start > MAXIMUM_IPV6 || isNotIpv6(text, start, end) || !isIpv6(text.slice(start, end))) return 0
  ZONE_AND_PREFIX.lastIndex = end
  const whole = end + (ZONE_AND_PREFIX.exec(text)?.[0].length ?? 0)
  if (isSharedIpv6(segment, start, whole, text.slice(start, end), prefixOf(text, end, whole))) return whole
  return segment.add('ip_address', start, whole) ? whole : 0
}

/** Eight pairs are a serial number or an EUI-64; addresses have no leading zeros. */
const PAIRS = /^(?:[0-9A-Fa-f]{2}:){7}[0-9A-Fa-f]{2}$/

/** `less than 1000::` before an example, or `x[102::-3]` */
const DECIMAL_BEGINNING = /^\d{1,4}::$/

/** Reports whether it is no address: a line of `/etc/passwd`, `x:101:104::/home/x`, or pairs. */
const isNotIpv6 = (text: string, start: number, end: number): boolean =>
  (DECIMAL_BEGINNING.test(text.slice(start, end)) && codeAt(text, end) !== SLASH) ||
  (text.endsWith('::', end) && codeAt(text, end) === SLASH && !isDigit(codeAt(text, end + 1))) ||
  PAIRS.test(text.slice(start, end))

/**
 * Prefilter: two colons in a row, or six between the parts of a whole address, which may end in
 * IPv4.
 */
function hasColons(text: string, start: number, end: number): boolean {
  let colons = 0
  for (let at = start; at < end; at++) {
    if (text.charCodeAt(at) !== COLON) continue
    if (codeAt(text, at + 1) === COLON) return true
    colons++
  }
  return colons >= 6
}

const isAddressCharacter = (code: number, dots = false): boolean =>
  isHexDigit(code) || code === COLON || (dots && code === DOT)

/**
 * First groups of ranges in use: global unicast, NAT64, discard-only, unique local, link-local,
 * multicast (RFC 4291, RFC 6890). Names in code have others: `DBD::DB2`, `f64::`.
 */
const FIRST_IN_USE = /^(?:[23][0-9a-f]{3}|64:ff9b|100:|f[cd][0-9a-f]{2}|fe[89a-f][0-9a-f]|ff[0-9a-f]{2}):/i
/** A shortened address with so many groups is one with any first group. */
const MIN_OWN_GROUPS = 4

/** May replace the last two groups of an address. */
const MAPPED = /(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/y
const MAXIMUM_GROUP = 4
const GROUPS = 8
/** Loopback and unspecified addresses. */
const LOOPBACK_OR_UNSPECIFIED = /^[0:]*1?$/

/**
 * Reports whether it consists of groups of hexadecimal digits between colons, with at most one
 * `::`. `1::2` is a slice in code.
 */
function isIpv6(text: string): boolean {
  let groups = 0
  let isShortened = text.startsWith('::')
  let at = isShortened ? 2 : 0
  while (at < text.length) {
    const start = at
    while (isHexDigit(codeAt(text, at))) at++
    if (codeAt(text, at) === DOT) {
      if (!isMappedIpv4(text, start)) return false
      groups += 2
      break
    }
    const length = at - start
    if (length === 0 || length > MAXIMUM_GROUP || groups === GROUPS) return false
    groups++
    if (at === text.length) break
    if (codeAt(text, at) !== COLON || ++at === text.length) return false
    if (codeAt(text, at) !== COLON) continue
    if (isShortened) return false
    isShortened = true
    at++
  }
  const isWhole = isShortened
    ? groups < GROUPS &&
      (groups >= MIN_OWN_GROUPS || FIRST_IN_USE.test(text) || (text.startsWith('::') && groups > 1))
    : groups === GROUPS
  return isWhole && !LOOPBACK_OR_UNSPECIFIED.test(text) && /\d/.test(text)
}

function isMappedIpv4(text: string, at: number): boolean {
  MAPPED.lastIndex = at
  return MAPPED.exec(text)?.slice(1).every(isOctet) === true
}
