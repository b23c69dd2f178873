// Lists addresses that identify nobody: networks, multicast, reserved and link-local ranges
// (RFC 6890), public resolvers.

import { matchesAt } from './code-unit-classes.ts'
import type { Segment } from './engine/segment.ts'

/** Public resolvers, and the services of clouds that every machine asks about itself. */
const SHARED = new Set(
  (
    '1.1.1.1 1.0.0.1 1.1.1.2 1.0.0.2 1.1.1.3 1.0.0.3 8.8.8.8 8.8.4.4 9.9.9.9 9.9.9.10 9.9.9.11 149.112.112.112 149.112.112.10 ' +
    '4.4.4.4 4.2.2.1 4.2.2.2 4.2.2.3 4.2.2.4 4.2.2.5 4.2.2.6 208.67.222.222 208.67.220.220 208.67.222.123 208.67.220.123 ' +
    '94.140.14.14 94.140.15.15 94.140.14.140 94.140.14.141 76.76.2.0 76.76.10.0 76.76.19.19 64.6.64.6 64.6.65.6 77.88.8.8 77.88.8.1 ' +
    '114.114.114.114 114.114.115.115 223.5.5.5 223.6.6.6 119.29.29.29 180.76.76.76 185.228.168.9 185.228.169.9 156.154.70.1 156.154.71.1 ' +
    '169.254.169.254 169.254.170.2 169.254.169.123 169.254.169.253 169.254.20.10 100.100.100.200 168.63.129.16 ' +
    '2001:4860:4860::8888 2001:4860:4860::8844 2001:4860:4860::64 2001:4860:4860::6464 2606:4700:4700::1111 2606:4700:4700::1001 ' +
    '2620:fe::fe 2620:fe::9 2620:119:35::35 2620:119:53::53 2a10:50c0::ad1:ff 2a10:50c0::ad2:ff fd00:ec2::254'
  ).split(' '),
)
const IPV4_BITS = 32
const GROUP_BITS = 16
const GROUPS = 8
const MULTICAST = 224
/** Leading groups of a link-local address that need not be 0. */
const LINK_PREFIX_GROUPS = 2

/** A text that begins with the address: what precedes it, and what follows. */
const STATEMENT_BEFORE = /^(?:[A-Z][a-z-]{1,12}(?: is)?:? )?$/
const STATEMENT_AFTER = /^(?:\/\d{1,3})?(?:\.?$| (?:on|via|in) )/
const MAXIMUM_STATEMENT = 20

/**
 * Reports whether a text says nothing but the address, as when somebody asks about it or tries what
 * is found: `Subnet: 192.168.1.0/24`.
 */
function isStatement({ text, offset }: Segment, at: number, end: number): boolean {
  return (
    offset === 0 &&
    at <= MAXIMUM_STATEMENT &&
    STATEMENT_BEFORE.test(text.slice(0, at)) &&
    STATEMENT_AFTER.test(text.slice(end, end + MAXIMUM_STATEMENT))
  )
}

/** A netmask or a wildcard mask after an address of a network. */
const MASK_AFTER =
  /[ \t,;/]{1,16}(?:net)?(?:mask[ \t=:]{0,4})?(?:255\.(?:\d{1,3}\.){2}\d|0\.0\.\d{1,3}\.255)/y

/**
 * Reports whether an IPv4 address is one of many, or the name of a network.
 * @param prefix length of the prefix; -1 without one
 */
export function isSharedIpv4(
  segment: Segment,
  at: number,
  end: number,
  octets: readonly string[],
  prefix: number,
): boolean {
  const address = octets.join('.')
  if (SHARED.has(address)) return true
  const numbers = octets.map(Number)
  const [first, second, , last] = numbers as [number, number, number, number]
  if (first >= MULTICAST) return true
  const isLinkLocal = first === 169 && second === 254
  const isNetwork =
    (prefix >= 0 && hasNoHostBits(numbers, prefix)) ||
    (prefix < 0 && last === 0 && (isPrivate(first, second) || matchesAt(MASK_AFTER, segment.text, end)))
  if (!isLinkLocal && !isNetwork) return false
  return !isStatement(segment, at, end)
}

const isPrivate = (first: number, second: number): boolean =>
  first === 10 || (first === 172 && second >= 16 && second < 32) || (first === 192 && second === 168)

/** Reports whether only the bits of a prefix are set, and it is no single address. */
function hasNoHostBits(octets: readonly number[], prefix: number): boolean {
  if (prefix >= IPV4_BITS) return false
  const value = octets.reduce((sum, octet) => sum * 256 + octet, 0)
  return value % 2 ** (IPV4_BITS - prefix) === 0
}

/**
 * The same for IPv6.
 * @param address without zone and prefix; valid
 */
export function isSharedIpv6(
  segment: Segment,
  at: number,
  end: number,
  address: string,
  prefix: number,
): boolean {
  const text = address.toLowerCase()
  if (SHARED.has(text)) return true
  const mapped = MAPPED.exec(text)?.[0]
  if (mapped !== undefined && SHARED.has(mapped)) return true
  const groups = groupsOf(text)
  const isLink = (groups[0]! & 0xffc0) === 0xfe80
  // The last groups of a link's address often have the address of the interface in them.
  const isShared =
    groups[0]! >= 0xff00 || (isLink && groups.slice(LINK_PREFIX_GROUPS, -1).every((group) => group === 0))
  if (!isShared && !(prefix >= 0 && isPrefixOf(groups, prefix))) return false
  return !isStatement(segment, at, end)
}

/** An IPv4 address at the end of another. */
const MAPPED = /\d{1,3}(?:\.\d{1,3}){3}$/

/** The eight groups of an address; an IPv4 address at its end counts as two of 0. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.replace(MAPPED, '1:1').split('::')
  const parse = (part: string | undefined): number[] =>
    part === undefined || part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const first = parse(head)
  const last = parse(tail)
  return [...first, ...Array.from({ length: GROUPS - first.length - last.length }, () => 0), ...last]
}

/** Reports whether no bit after the prefix is set, and it is no single address. */
function isPrefixOf(groups: readonly number[], prefix: number): boolean {
  if (prefix >= GROUPS * GROUP_BITS) return false
  return groups.every((group, index) => {
    const kept = Math.min(GROUP_BITS, Math.max(0, prefix - index * GROUP_BITS))
    return group % 2 ** (GROUP_BITS - kept) === 0
  })
}
