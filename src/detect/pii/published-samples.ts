// Knows values that are published for documents and tests, and addresses of private networks. They
// are nobody's.

import type { PiiKind } from '../../core/finding.ts'
import { fold } from './fold.ts'

const lines = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** Test numbers of Visa, Mastercard, American Express, Discover, Diners, JCB and UnionPay. */
const TEST_CARDS = lines(
  '4242424242424242 4000056655665556 4111111111111111 4012888888881881 4222222222222 4917610000000000 ' +
    '5555555555554444 2223003122003222 5200828282828210 5105105105105100 5454545454545454 ' +
    '378282246310005 371449635398431 378734493671000 6011111111111117 6011000990139424 6011981111111113 ' +
    '3056930009020004 30569309025904 36227206271667 38520000023237 3566002020360505 3530111333300000 6200000000000005',
)

/** Keys that AWS prints in its documents. */
const AWS_KEYS = lines(
  'AKIAIOSFODNN7EXAMPLE AKIAI44QH8DHBEXAMPLE ASIAIOSFODNN7EXAMPLE ASIAI44QH8DHBEXAMPLE ' +
    'AKIA111111111EXAMPLE AKIA222222222EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY ' +
    'wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY',
)

/** Examples of the registry of account numbers (ISO 13616), as they are printed everywhere. */
const ACCOUNTS = lines(
  'GB82WEST12345698765432 GB29NWBK60161331926819 DE89370400440532013000 FR1420041010050500013M02606 ' +
    'NL91ABNA0417164300 ES9121000418450200051332 IT60X0542811101000000123456 CH9300762011623852957 ' +
    'BE68539007547034 AT611904300234573201',
)

const NUMBERS = lines('078-05-1120 219-09-9999 078051120 219099999')

/** Names for documents and tests, and all below them (RFC 2606, RFC 6761 §6). */
const SAMPLE_ADDRESS =
  /^[^@]+@(?:[a-z0-9-]+[.])*(?:example[.](?:com|org|net)|[a-z0-9-]+[.](?:example|test|invalid|localhost))$/i
/**
 * 555-0100 to 555-0199 of an area code of North America, grouped as there, or after +1: in other
 * countries the same digits are somebody's number. Codes without charge reserve 555-0199 alone.
 */
const FICTION =
  /^(?:[+]1[-. ]?|1[-. ])?(?:[(][2-9]\d\d[)][-. ]?|[2-9]\d\d[-. ])555[-. ]01\d\d$|^[+]1[2-9]\d\d55501\d\d$|^555[-.]01\d\d$/
const FREE_OF_CHARGE = /^1?8(?:00|33|44|55|66|77|88)555(?!0199)/
/** RFC 5737, in networks of at most 256 addresses. */
const DOCUMENT_4 =
  /^(?:192[.]0[.]2|198[.]51[.]100|203[.]0[.]113)[.](?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])(?:[/](?:2[4-9]|3[0-2]))?$/
/** Unicast and multicast (RFC 9542 §2.1). */
const DOCUMENT_STATION = /^(?:00005e0053|01005e9010)[0-9a-f]{2}$/i

/** Digits and letters, ASCII where they can be. */
const compact = (value: string): string => fold(value).replace(/[^\p{L}\p{N}]/gu, '')

const IP_6 = /^\[?([0-9a-f:]+)(?:[/](\d{1,3}))?\]?$/i
const FIRST_GROUPS = /^([0-9a-f]{1,4}):(:|[0-9a-f]{1,4}:)/i

/** Whether an address, or a network, is in 2001:db8::/32 (RFC 3849) or 3fff::/20 (RFC 9637). */
function isDocument6(value: string): boolean {
  const [, address = '', prefix = '128'] = IP_6.exec(value) ?? []
  const [, first = '', rest = ''] = FIRST_GROUPS.exec(address) ?? []
  const group = Number.parseInt(first, 16)
  const second = rest === ':' ? 0 : Number.parseInt(rest, 16)
  if (group === 0x2001) return second === 0xdb8 && Number(prefix) >= 32
  return group === 0x3fff && second <= 0xfff && Number(prefix) >= 20
}

/** By kind: whether a value is published. Each reads the whole value. */
const PUBLISHED: Readonly<Partial<Record<string, (value: string) => boolean>>> = {
  email: (value) => SAMPLE_ADDRESS.test(value),
  phone: (value) => FICTION.test(fold(value)) && !FREE_OF_CHARGE.test(compact(value)),
  credit_card: (value) => TEST_CARDS.has(compact(value)),
  us_ssn: (value) => NUMBERS.has(value.replaceAll(' ', '-')),
  iban: (value) => ACCOUNTS.has(compact(value).toUpperCase()),
  ip_address: (value) => DOCUMENT_4.test(value) || isDocument6(value),
  mac_address: (value) => DOCUMENT_STATION.test(compact(value)),
  secret: (value) => AWS_KEYS.has(value),
}

/** Reports whether a value is one that documents and tests print. */
export const isPublishedSample = (kind: PiiKind, value: string): boolean => PUBLISHED[kind]?.(value) === true

/** RFC 1918, RFC 6598, RFC 3927, loopback. */
const PRIVATE_4 =
  /^(?:10|127|169[.]254|192[.]168|172[.](?:1[6-9]|2\d|3[01])|100[.](?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))[.]/
/** RFC 4193, link-local, loopback. */
const PRIVATE_6 = /^(?:f[cd][0-9a-f]{2}:|fe[89ab][0-9a-f]:|::1(?![0-9a-f:.]))/i
const MAPPED = /^::ffff:(?=\d+[.])/i

/** Reports whether an IP address, with its prefix if it has one, is of a private network. */
export function isPrivateAddress(value: string): boolean {
  const address = value.replace(MAPPED, '').replace(/^\[/, '')
  return PRIVATE_4.test(address) || PRIVATE_6.test(address)
}
