// Detects e-mail addresses (RFC 5321, RFC 6531): expands from the `@` to both sides, within bounds.

import {
  ASCII_END,
  AT_SIGN,
  BACKSLASH,
  COLON,
  DOT,
  EQUALS,
  HYPHEN,
  isAlphanumeric,
  isDigit,
  OPEN_BRACKET,
  OPEN_PAREN,
  PERCENT,
  SLASH,
  UNDERSCORE,
} from '../../core/ascii.ts'
import { codeAt, isLetter, isSpacedLetter } from './code-unit-classes.ts'
import type { Segment } from './engine/segment.ts'
import { isAlgorithm, isMessage, isRemote } from './other-name.ts'
import { scanUserInfo } from './secret/user-info.ts'
import { scanTeamsWebhook } from './secret/webhooks.ts'
import { isTopLevelDomain } from './top-level-domains.ts'

/** RFC 5321 §4.5.3.1. */
const MAXIMUM_LOCAL = 64
const MAXIMUM_DOMAIN = 255
const MAXIMUM_LABEL = 63
const MAXIMUM_TOP_LEVEL = 24

const LOCAL_PUNCTUATION = "._%+-'&~=#!"
/**
 * Characters allowed in a local part that at its start belong to the surrounding text; also
 * everything up to a `=`.
 */
const LEADING = /^(?:[.'&~=#!%+-]+|[^=]*=(?=[^=]))+/
/** Escapes of JSON before an address in a text that is not decoded: `\nfoo@…`, `\u003cfoo@…`. */
const ESCAPED = /^(?:u00[0-9a-f]{2}|[nrt])/
/**
 * Top-level domains that are also endings of files or members in code, as in `logo@2x.zip` and
 * `x@meta.data`, or names of environments. Most of them have no public names.
 */
const NOT_TOP_LEVEL = new Set(
  'zip mov py java map md target data docs prod call read save open select search author'.split(' '),
)
/** Endings of files that people send to each other. */
const FILE_ENDING = /^(?:pdf|txt|csv|jpe?g|png|zip|json|html?|xml|md)$/i
/** Users of version control over SSH. */
const NOT_LOCAL = /^(?:git|svn|hg)$/i
const MAXIMUM_VERSION_CONTROL_USER = 3
/** A repository, of which the rest is a branch or tag: `lib.git@release.dev`. */
const REPOSITORY = '.git'
/** A version with a label: `10.0.0-next.dev`. */
const VERSION = /\d{1,9}\.\d/y
/** The scope of a package before its name: `@nestjs/`. */
const PACKAGE_SCOPE = /@[\w.-]+\/$/
/** The part before a local part in `scheme://user:password@host`. */
const USER_INFO = /\/\/[^\s/@]*$/

/**
 * Top-level domains accepted after a name with a call or an index: country codes and the oldest
 * generic ones.
 */
const COUNTRY_OR_COMMON = /\.(?:[a-z]{2}|com|net|org|edu|gov|info)$/i

/** The digits of a percent-encoded `@`, after the `%`. */
const ENCODED_AT_DIGITS = '40'
/**
 * Percent-encoded characters other than `+` with all text before them: a name and a sign before the
 * address.
 */
const ENCODED_LEADING = /^.*%(?!2b)[0-9a-f]{2}/i

/** Classes of ASCII in a local part: letters and digits, and other characters. */
const ORDINARY = 1
const OTHER = 2
const LOCAL = Uint8Array.from({ length: ASCII_END }, (_, code) =>
  isAlphanumeric(code) ? ORDINARY : LOCAL_PUNCTUATION.includes(String.fromCharCode(code)) ? OTHER : 0,
)
const isLocal = (code: number): boolean => (code < ASCII_END ? LOCAL[code] !== 0 : isSpacedLetter(code))

/**
 * @param at of the `@`
 * @returns where to continue
 */
export function scanEmail(segment: Segment, at: number): number {
  const localStart = startOfLocalCharacters(segment, at)
  return (
    scanUserInfo(segment, at, localStart) ||
    scanTeamsWebhook(segment, at) ||
    scanAround(segment, localStart, at, at + 1)
  )
}

/**
 * Reports whether a digit belongs to the percent-encoded `@` of an address in a URL (RFC 3986
 * §2.1): `ana%40example.com`.
 */
export const isEncodedAtSign = (text: string, at: number): boolean =>
  codeAt(text, at - 1) === PERCENT && text.startsWith(ENCODED_AT_DIGITS, at)

/**
 * @param at of the digits of a percent-encoded `@`
 * @returns where to continue
 */
export function scanEncodedEmail(segment: Segment, at: number): number {
  const sign = at - 1
  const localStart = startOfLocalCharacters(segment, sign)
  const coded = ENCODED_LEADING.exec(segment.text.slice(localStart, sign))?.[0].length ?? 0
  return scanAround(segment, localStart + coded, sign, at + ENCODED_AT_DIGITS.length)
}

/**
 * @param localStart start of the characters that may belong to the local part
 * @param at of the sign, which ends at `domain`
 */
function scanAround(segment: Segment, localStart: number, at: number, domain: number): number {
  const { text } = segment
  const end = domainEnd(text, domain)
  if (end === 0 || codeAt(text, at - 1) === DOT) return domain
  if (isMatrixProduct(text, end)) return domain
  const start = trimLocalStart(text, localStart, at, end)
  if (start === at || isVersionControlUser(text, start, at)) return domain
  if (isPackage(text, start, at, domain) || isLogin(text, start)) return domain
  if (isAlgorithm(text, start, domain, end) || isRemote(text, domain, end)) return end
  if (isMessage(text, localStart, at)) return end
  const before = codeAt(text, start - 1)
  if (before === AT_SIGN) return domain
  if (
    (before === SLASH || before === COLON) &&
    USER_INFO.test(text.slice(Math.max(0, start - MAXIMUM_LOCAL), start))
  )
    return domain
  return segment.add('email', start, end) ? end : domain
}

/** Reports whether it is a version of a package, or a branch of a repository. */
function isPackage(text: string, start: number, at: number, domain: number): boolean {
  VERSION.lastIndex = domain
  if (VERSION.test(text) || text.startsWith(REPOSITORY, at - REPOSITORY.length)) return true
  return (
    codeAt(text, start - 1) === SLASH &&
    PACKAGE_SCOPE.test(text.slice(Math.max(0, start - MAXIMUM_LOCAL), start))
  )
}

/** Characters of a command that are read before a user at a host. */
const MAXIMUM_COMMAND = 64
/** A program that connects to a host as a user, and its first arguments if they are words. */
const COMMAND =
  /(?<![\w.@-])(?:ssh|scp|sftp|rsync|mosh|autossh|sshfs|sshpass|slogin|rlogin|ssh-copy-id|ssh-keyscan|lftp|psql|mysql|mysqldump|mariadb|pg_dump|pg_restore|git\s+(?:clone|fetch|pull|push|archive|ls-remote|submodule\s+add|remote\s+(?:add|set-url)\s+\w+))(?:\s+|$)/
/** An option, a path, a host or a setting, and no word of prose. */
const ARGUMENT = /^-|[/.:~=].*[^,;.:]$|^[.~]$/
/** What may directly precede the user. */
const OPENING = /^(?:["'`]?(?:ssh:\/\/)?)$/

/** Reports whether it names a user at a host, after a command: `ssh -p 22 `, `rsync -a x/ `. */
function isLogin(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - MAXIMUM_COMMAND), start)
  const command = COMMAND.exec(before)
  if (command === null) return false
  const args = before.slice(command.index + command[0].length).split(/\s+/)
  return args.every((argument, index) =>
    index === args.length - 1
      ? OPENING.test(argument)
      : ARGUMENT.test(argument) || args[index - 1]?.startsWith('-') === true,
  )
}

/**
 * Reports whether the name that ends at `end` is code, such as a matrix product of Python:
 * `A@np.linalg.inv(B)`, `x@rows.index[0]`.
 */
function isMatrixProduct(text: string, end: number): boolean {
  const after = codeAt(text, end)
  if (after !== OPEN_PAREN && after !== OPEN_BRACKET) return false
  return !COUNTRY_OR_COMMON.test(text.slice(Math.max(0, end - MAXIMUM_TOP_LEVEL), end))
}

/** Where the characters that may belong to the local part start. */
function startOfLocalCharacters({ text, end: limit }: Segment, at: number): number {
  const least = Math.max(limit, at - MAXIMUM_LOCAL)
  let start = at
  while (start > least && isLocal(text.charCodeAt(start - 1))) start--
  return start
}

function trimLocalStart(text: string, localStart: number, at: number, end: number): number {
  let start = localStart
  if (codeAt(text, start - 1) === BACKSLASH) start += ESCAPED.exec(text.slice(start, at))?.[0].length ?? 0
  // Underscores on both sides are emphasis.
  if (codeAt(text, end) === UNDERSCORE) while (codeAt(text, start) === UNDERSCORE) start++
  let isPlain = LOCAL[text.charCodeAt(start)] !== OTHER
  for (let i = start; isPlain && i < at; i++) isPlain = text.charCodeAt(i) !== EQUALS
  return isPlain ? start : start + (LEADING.exec(text.slice(start, at))?.[0].length ?? 0)
}

const isVersionControlUser = (text: string, start: number, at: number): boolean =>
  at - start <= MAXIMUM_VERSION_CONTROL_USER && NOT_LOCAL.test(text.slice(start, at))

/** End of the longest domain name with a top-level domain; 0 if there is none. */
function domainEnd(text: string, start: number): number {
  const limit = Math.min(text.length, start + MAXIMUM_DOMAIN)
  let end = 0
  let label = start
  let isAlphabetic = true
  for (let at = start; at <= limit; at++) {
    const code = at < limit ? text.charCodeAt(at) : DOT
    if (isLetter(code)) continue
    if (isDigit(code) || (code === HYPHEN && at > label)) {
      isAlphabetic = false
      continue
    }
    const hyphen = label > start ? hyphenAfterTopLevel(text, label, at) : 0
    if (hyphen > 0) return hyphen
    const length = at - label
    if (length === 0 || length > MAXIMUM_LABEL || text.charCodeAt(at - 1) === HYPHEN) break
    if (label > start && isTopLevel(text.slice(label, at), isAlphabetic)) end = at
    if (code !== DOT) {
      // Neither a file ending nor a name that continues differently is a domain.
      if (end !== at && label > start && !isFileNamed(text, end, label, at)) end = 0
      break
    }
    label = at + 1
    isAlphabetic = true
  }
  return end
}

/** After these, a hyphen and a word are not part of the domain: `bob@example.com-Ann`. */
const COMMON_TOP_LEVEL = /^(?:com|net|org|edu|gov|info)$/i

/**
 * Reports whether a file is named after an address: `bob@example.com.pdf`.
 * @param end end of the domain before the label
 */
const isFileNamed = (text: string, end: number, label: number, labelEnd: number): boolean =>
  end === label - 1 &&
  FILE_ENDING.test(text.slice(label, labelEnd)) &&
  COMMON_TOP_LEVEL.test(text.slice(text.lastIndexOf('.', end - 1) + 1, end))

/**
 * Where the hyphen is that ends a top-level domain; 0 if there is none. Either nothing follows the
 * hyphen, or the domain is one that has no such continuation.
 */
function hyphenAfterTopLevel(text: string, label: number, end: number): number {
  const hyphen = text.indexOf('-', label)
  if (hyphen <= label || hyphen >= end || end - label > MAXIMUM_LABEL) return 0
  for (let at = label; at < hyphen; at++) if (!isLetter(text.charCodeAt(at))) return 0
  const name = text.slice(label, hyphen)
  const isLast = hyphen === end - 1 && codeAt(text, end) !== DOT
  return (isLast || COMMON_TOP_LEVEL.test(name)) && isTopLevel(name, true) ? hyphen : 0
}

const isTopLevel = (label: string, isAlphabetic: boolean): boolean =>
  (!isAlphabetic || (label.length > 1 && label.length <= MAXIMUM_TOP_LEVEL)) &&
  isTopLevelDomain(label) &&
  !NOT_TOP_LEVEL.has(label.toLowerCase())
