// The search of one segment: from trigger to trigger, a bounded look around each.

import { isIPv6 } from 'node:net'
import type { Finding, PiiKind } from '../../core/finding.ts'
import { hasKind, type KindSet } from './kinds.ts'
import { ibanLength, isCard, isInternational, isNorthAmerican, isSsn, passesMod97 } from './numbers.ts'
import { findSecrets, KEY_BEGIN } from './secrets.ts'

const TRIGGER = /[0-9@:]/g
/** Characters before a trigger that are looked at. */
const CONTEXT = 64
const MAX_LOCAL = 64
/** Letters of scripts that put spaces: where they do not, a word before an address would become a part of it. */
const LETTER = '\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}'
const LOCAL_BEFORE = new RegExp(`[${LETTER}\\p{N}._%+'-]{1,64}$`, 'u')
const DOMAIN_AFTER = new RegExp(
  `^(?:[${LETTER}\\p{N}](?:[${LETTER}\\p{N}-]{0,61}[${LETTER}\\p{N}])?\\.){1,8}(?:xn--[a-z0-9-]{2,59}|[${LETTER}]{2,24})(?![${LETTER}\\p{N}_-])`,
  'u',
)
const FILE_ENDINGS =
  /\.(?:png|jpe?g|gif|svg|webp|js|mjs|ts|tsx|jsx|json|css|html?|py|rb|go|md|txt|ya?ml|toml|lock|sh|map)$/i
const DOMAIN_CHARACTERS = 255

/** Digits with the punctuation phone numbers, cards and dates are written with. */
const NUMBER = /[+(]{0,2}\d(?:[ ().\-–/]{0,3}\d){5,21}/y
const IPV4 = /(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}(?![\w]|\.\d)/y
const IBAN = /[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}/y
const MAC = /[0-9A-Fa-f]{2}([:-])[0-9A-Fa-f]{2}(?:\1[0-9A-Fa-f]{2}){4}(?![0-9A-Fa-f:-])/y
const MAC_GROUPS = /[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}(?![0-9A-Fa-f.])/y
/** Broadcast and unset. */
const NO_MAC = /^(?:[f:-]+|[0:.-]+)$/i
const MAC_CHARACTERS = 17
const IPV6_CHARACTERS = /[0-9A-Fa-f:.]/

const VERSION_BEFORE =
  /(?:\bv(?:er(?:sion)?)?\.?|versions?|release|section|chapter|==|[<>]=?|§|\b(?:versions?|release)\s+[\d.]{3,16}(?:\s+(?:or|and|to)|,))\s*$/i
const PHONE_BEFORE =
  /(?:phone|tel(?:efono|éfono|efon|éphone|efone)?|mobile?|móvil|cell(?:ulare?)?|handy|fax|whats\s?app|sms|text|dial|ring|call(?:ing)?|reach|contact|number is|hotline|numéro|rufnummer|appel\w*|llam\w+|chiam\w+|ligue|电话|手机|電話|携帯|тел)[^\d\n]{0,30}$/iu
const NOT_PHONE_BEFORE =
  /(?:order|invoice|tracking|ticket|imei|isbn|serial|account|ref(?:erence)?|id|sku|port|pid|case|zip|code)[^\w\n]{0,4}(?:(?:no|number|nr|is)\.?\s*)?[#:]?\s*$|\bline\s*[#:]?\s*$/i
const PHONE_AFTER = /^[\s,-]{0,2}\(?(?:office|fax|mobile|cell|home|work)\b/i
/** An extension written behind a number. */
const EXTENSION = /^\s?(?:x|ext\.?\s?)\d{1,5}(?!\w)/i
const SSN_BEFORE = /(?:\bssn\b|social security|soc\.? sec)[^\d\n]{0,24}$/i
const NOT_CARD_BEFORE = /(?:imei|serial|tracking|invoice|isbn)[^\d\n]{0,16}$/i

interface Scan {
  readonly text: string
  /** Findings begin here or later; what is before is context. */
  readonly from: number
  readonly kinds: KindSet
  add(kind: PiiKind, start: number, end: number): boolean
}

/**
 * Adds the findings of one segment, in order.
 * @param text context and segment
 * @param from where the segment begins in it
 * @param base offset of the text in the whole
 */
export function scanSegment(
  text: string,
  from: number,
  base: number,
  kinds: KindSet,
  findings: Finding[],
): void {
  // Most segments are words: every value has one of these, and a look for them costs next to nothing.
  TRIGGER.lastIndex = from
  if (!TRIGGER.test(text) && !text.includes(KEY_BEGIN, from)) return
  const found: Finding[] = []
  const add = (kind: PiiKind, start: number, end: number): boolean => {
    if (!hasKind(kinds, kind) || start < from || found.some((one) => one.start < end && start < one.end))
      return false
    found.push({ kind, start, end })
    return true
  }
  const scan: Scan = { text, from, kinds, add }
  for (const { start, end } of findSecrets(text, from)) add('secret', start, end)
  let next = from
  TRIGGER.lastIndex = from
  for (let trigger = TRIGGER.exec(text); trigger !== null; trigger = TRIGGER.exec(text)) {
    const at = trigger.index
    if (at < next) continue
    next = scanTrigger(scan, at)
    TRIGGER.lastIndex = Math.max(next, at + 1)
  }
  found.sort((a, b) => a.start - b.start)
  for (const { kind, start, end } of found) findings.push({ kind, start: base + start, end: base + end })
}

/** Looks around a trigger; returns where to go on. */
function scanTrigger(scan: Scan, at: number): number {
  const character = scan.text[at]
  if (character === '@') return scanEmail(scan, at)
  if (character === ':') return scanColon(scan, at)
  return scanDigits(scan, at)
}

function scanEmail({ text, add }: Scan, at: number): number {
  const local =
    LOCAL_BEFORE.exec(text.slice(Math.max(0, at - MAX_LOCAL), at))?.[0].replace(/^['.%+-]+/, '') ?? ''
  const domain = DOMAIN_AFTER.exec(text.slice(at + 1, at + 1 + DOMAIN_CHARACTERS))?.[0] ?? ''
  if (local === '' || domain === '' || FILE_ENDINGS.test(domain) || /^(?:git|svn)$/i.test(local))
    return at + 1
  const end = at + 1 + domain.length
  return add('email', at - local.length, end) ? end : at + 1
}

/** IPv6 and MAC addresses, whose groups may begin with a letter. */
function scanColon(scan: Scan, at: number): number {
  const { text, add } = scan
  let start = at
  while (start > 0 && at - start < 45 && IPV6_CHARACTERS.test(text[start - 1] ?? '')) start--
  let end = at + 1
  while (end < text.length && end - start < 46 && IPV6_CHARACTERS.test(text[end] ?? '')) end++
  if (/\w/.test(text[start - 1] ?? '') || /\w/.test(text[end] ?? '')) return at + 1
  const mac = matchAt(MAC, text, start)
  if (mac !== '' && !NO_MAC.test(mac) && add('mac_address', start, start + mac.length))
    return start + mac.length
  const address = text
    .slice(start, end)
    .replace(/[.:]$/, (last) => (text.slice(start, end).endsWith('::') ? last : ''))
  if (
    (address.match(/:/g)?.length ?? 0) < 2 ||
    !/\d/.test(address) ||
    !isIPv6(address) ||
    /^[0:]*1?$/.test(address)
  )
    return at + 1
  return add('ip_address', start, start + address.length) ? start + address.length : at + 1
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

function scanDigits(scan: Scan, at: number): number {
  const { text, add } = scan
  const before = text.slice(Math.max(0, at - CONTEXT), at)
  const start = at - (/(?:\+|\(\+?|\+\(|00)$/.exec(before)?.[0].replace(/^0+$/, '').length ?? 0)
  const previous = text[start - 1] ?? ''
  if (/[A-Za-z]{2}$/.test(before) && !/[A-Za-z0-9]{3}$/.test(before)) {
    const end = scanIban(scan, at - 2)
    if (end > 0) return end
  }
  const mac = scanMac(scan, at)
  if (mac > 0) return mac
  if (/\w/.test(previous) || /\d[.,]$/.test(before)) return skipDigits(text, at)
  const ip = matchAt(IPV4, text, at)
  if (ip !== '') {
    const local = /^(?:127\.|0\.0\.0\.0$)/.test(ip) || VERSION_BEFORE.test(before)
    if (!local) add('ip_address', at, at + ip.length)
    return at + ip.length
  }
  return scanNumber(scan, at, start)
}

/** Three groups of one digit: counting, not a number anybody has. */
const SINGLE_DIGITS = /\d[ .-]\d[ .-]\d(?!\d)/y
/** Groups that may belong to what follows a number rather than to it; more are not tried. */
const MAX_CUTS = 6

/** Digits in groups: the longest reading that makes sense. */
function scanNumber({ text, add }: Scan, at: number, start: number): number {
  if (matchAt(SINGLE_DIGITS, text, at) !== '') return at + 1
  let written = matchAt(NUMBER, text, start)
  const before = text.slice(Math.max(0, start - CONTEXT), start)
  for (let cut = 0; written !== '' && cut < MAX_CUTS; cut++) {
    let end = start + written.length
    const extension = EXTENSION.exec(text.slice(end, end + 10))?.[0] ?? ''
    if (extension !== '' || !/^\w/.test(text.slice(end, end + 1))) {
      const kind = classify(written, before, text.slice(end, end + 16))
      if (kind === 'phone') end += extension.length
      if (kind !== null && add(kind, start, end)) return end
    }
    // `(24/7)` behind a number looks like a part of it.
    written = /^(.*\d)[ ().\-–/]+\d+$/.exec(written)?.[1] ?? ''
  }
  return skipDigits(text, at)
}

const skipDigits = (text: string, at: number): number => {
  let end = at
  while (end < text.length && text.charCodeAt(end) >= 48 && text.charCodeAt(end) <= 57) end++
  return end
}

/** Six pairs or three groups of four; may begin before the digit that was met. */
function scanMac({ text, add }: Scan, at: number): number {
  let start = at
  while (start > 0 && at - start < MAC_CHARACTERS && /[0-9A-Fa-f:.-]/.test(text[start - 1] ?? '')) start--
  const mac = matchAt(MAC, text, start) || matchAt(MAC_GROUPS, text, start)
  if (mac === '' || /\w/.test(text[start - 1] ?? '') || NO_MAC.test(mac)) return 0
  return add('mac_address', start, start + mac.length) ? start + mac.length : 0
}

function scanIban({ text, add }: Scan, start: number): number {
  const length = ibanLength(text.slice(start, start + 2))
  const written = length === 0 ? '' : matchAt(IBAN, text, start)
  let characters = 0
  for (let i = 0; i < written.length; i++) {
    if (/[A-Za-z0-9]/.test(written[i] ?? '')) characters++
    if (characters < length) continue
    const iban = written.slice(0, i + 1)
    const whole = !/\w/.test(text[start + i + 1] ?? '') && passesMod97(iban.replace(/[ -]/g, ''))
    return whole && add('iban', start, start + i + 1) ? start + i + 1 : 0
  }
  return 0
}

function classify(written: string, before: string, after: string): PiiKind | null {
  const digits = written.replace(/\D/g, '')
  if (digits.length >= 12 && isCard(written) && !NOT_CARD_BEFORE.test(before)) return 'credit_card'
  if (digits.length === 9 && isSsn(digits)) {
    if (/^\d{3}-\d{2}-\d{4}$/.test(written)) return 'us_ssn'
    if (SSN_BEFORE.test(before)) return 'us_ssn'
  }
  return isPhone(written, digits, before, after) ? 'phone' : null
}

function isPhone(written: string, digits: string, before: string, after: string): boolean {
  if (/^\(?\+/.test(written)) return isInternational(digits)
  if (/^00[1-9]/.test(written) && isInternational(digits.slice(2))) return true
  if (NOT_PHONE_BEFORE.test(before)) return false
  const national = digits.length === 11 && digits[0] === '1' ? digits.slice(1) : digits
  const grouped = /^(?:1[ .-]?)?\(?\d{3}\)?[ .-]?\d{3}[ .-]\d{4}$/.test(written)
  if (grouped && national.length === 10 && isNorthAmerican(national)) return true
  return digits.length >= 7 && digits.length <= 13 && (PHONE_BEFORE.test(before) || PHONE_AFTER.test(after))
}
