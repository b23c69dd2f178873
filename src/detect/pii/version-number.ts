// Tells versions, section numbers and object identifiers from IPv4 addresses, by the size of the
// four numbers and the text around them.

import { AT_SIGN, COLON, isDigit, SLASH } from '../../core/ascii.ts'
import { codeAt, codesOf } from './code-unit-classes.ts'
import type { Segment } from './engine/segment.ts'
import { isPathData } from './number/pathdata.ts'

/**
 * Comparisons and section signs before a version or a section number: `foo==1.2.3.4`, `>= 1.2.3.4`,
 * `§ 1.2.3.4`.
 */
const COMPARED_BEFORE = /(?:[<>=~!]=|(?:^|\s)(?:[<>=~!]=|[<>^~])\s|[\^~§#]\s?|\w<)$/
/** `Chrome/122.0.3231.213`, `foo-1.2.3.4` */
const NAMED_BEFORE = /(?:[A-Za-z0-9_][/-]|[a-z]\.(?:so|dll|ver|rel)\.)$/
/** A version in the coordinates of a library: `'com.foo:bar:1.2.3.4`. */
const COORDINATES_BEFORE = /[\w.-]:[a-z][\w.-]*:$/i
/** `//name:password@`; the password alone may be longer than what is read. */
const USER_INFO_BEFORE = /^[^\s/]{63}@$|\/\/[^\s/]{0,40}:[^\s/]{1,60}@$/
/** `node@0.10.33.1`, but also `root@203.0.113.7`. */
const AT_NAME_BEFORE = /\w@$/
const REMOTE_SHELL = /\b(?:ssh|scp|sftp|rsync|ftp|mosh|telnet)\b/
/** Characters that the patterns above read. */
const MAXIMUM_SIGNS = 6
/** Text allowed between a word for a version and the version; it may contain other versions. */
const AFTER_VERSION_WORD =
  /^[\s:="'`(#v>_]*(?:(?:number|no\.?|path|到|至|is|from|to|of|was|nr\.?)[\s:]*)?(?:[\dx.]+(?:\s*(?:,|or|and|to|-|->|→|through|oder|et|ou|y|und)\s*))*v?$/
/** After the word come at most "number is" or another version. */
const VERSION_DISTANCE = 24
/** A capitalised word directly before, perhaps with a digit; MACHINES are excluded. */
const PRODUCT_BEFORE = /(?<![\w.-])([A-Z][A-Za-z]{2,23}|[A-Z][A-Za-z]{0,9}\d) $/
const MAXIMUM_PRODUCT = 26
const MACHINES =
  /^(?:ip|ipv4|hosts?|servers?|addr|address|adresse|indirizzo|gateway|router|dns|from|to|via|at|on|clients?|peer|nodes?|source|destination|remote|local|proxy|ping|connect|subnet|network|interface|resolver|upstream|block|ban|allow|deny|login|user|von|an|de|da|use|set|the|machine|vm|pod|cluster|database|firewall|endpoint|master|worker|replica|primary|secondary|camera|printer|nas|switch)$/i
const SMALL_OCTET = 20
const ADDRESS_SIGNS = codesOf('/@=["')
/** A word in a text about machines, before an address. */
const NETWORK_WORD = new RegExp(
  '(?<!\\p{L})(?:ips?|ipv4|hosts?|hostname|servers?|dns|nameservers?|address(?:es)?|addr|gateway|router|' +
    'ping(?:s|ed)?|ssh|clients?|peers?|nodes?|src|dst|subnets?|network|proxy|firewall|login|logged|' +
    'connect\\w{0,4}|requests?|route[sd]?|traffic|packets?|ports?|listen\\w{0,4}|bind|bound|curl|wget|telnet|nmap|tcp|udp|' +
    'https?|vpn|remote|source|destination|allow(?:ed|list)?|den(?:y|ied|ylist)|block(?:ed|list)?|ban(?:ned)?|' +
    'blacklist(?:ed)?|whitelist(?:ed)?|visitors?|accepted|attack\\w{0,5}|machines?|clusters?|endpoints?|upstream|' +
    'backend|interface|eth\\d|lan|wan|cidr|netmask|resolver|forwarded|reach(?:ed|able)?|unreachable|timed out|' +
    'adresse|dirección|endereço|indirizzo|adres|serveurs?|servidor|rechner|адрес\\p{L}{0,3}|сервер\\p{L}{0,3}|хост\\p{L}{0,3})(?!\\p{L})|' +
    '地址|服务器|主机|サーバ|アドレス|주소|서버',
  'u',
)
/** Products whose names end with a word for a machine: `SQL Server 15.0.4.30`. */
const SERVER_PRODUCT = /(?:sql|exchange|windows|web|application) server $/
/** Versions have smaller numbers, except the last ones. */
const LARGE_OCTET = 100

/** Enzymes: `EC 3.4.21.4`. */
const ENZYME_BEFORE = /\b(?:EC|E\.C\.)(?: (?:number|no\.?))?[ :]*(?:[\d.]+(?:,| and| or|, and| und| et)? )*$/
/** Actions on a program or its parts, anywhere before: `bump deps to `, `npm install foo `. */
const RELEASE_WORD =
  /\b(?:git (?:checkout|tag|switch|branch|merge|describe|diff|log|show|rebase|cherry-pick|reset|revert|restore|(?:push|pull|fetch) [\w-]+)|go (?:get|install)|(?:docker|podman) (?:pull|push|run|tag|build)|(?:roll(?:s|ed|ing)?|fall(?:s|ing)?|fell) back|revert(?:s|ed|ing)?|bump(?:s|ed|ing)?|upgrad(?:es?|ed|ing)|downgrad(?:es?|ed|ing)|rollback|deps|dependenc(?:y|ies)|changelog|release notes|npm|pnpm|yarn|pip3?|cargo|gem|nuget|dotnet|apt|apt-get|brew|conda|helm|choco|winget|mvn|gradle|composer|semver|hotfix|enzymes?)\b[^\n]*$/
/** The same, but with other meanings too. */
const PROGRAM_WORD =
  /\b(?:packages?|plugins?|librar(?:y|ies)|sdk|tag(?:ged)?|patch(?:ed)?|pin(?:s|ned|ning)?|updat(?:es?|ing)|migrat(?:es?|ed|ing|ion))\b[^\n]*$/
/** Words directly before the version a statement is about: `fails with `, `since `, `requires `. */
const STATEMENT_BEFORE = new RegExp(
  '(?:\\b(?:(?:fail|work|break|crash|build|happen|occur|start|end|run|test|fix|add|ship|compil|reproduc|introduc|remov|' +
    'deprecat|chang)(?:e?s|ed|e|ing)?|built|broke|broken|seen|supported|available|(?:in)?compatible|regression|bug|issue)' +
    ' (?:again |only |fine |well )?(?:with|in|on|since|under|against|by|as of)|' +
    '\\b(?:still|stay(?:s|ed|ing)?|stuck|remains?) (?:on|at)|\\baffect(?:s|ed|ing)?|\\bdownload(?:s|ed|ing)?|' +
    '\\b(?:ship|publish|tag|releas)(?:s|ped|ping|es|e|ed|ing|ged)?|\\brev\\.?|' +
    '\\b(?:since|until|requires?|required|needs?|minimum|at least|(?:newer|older|later|earlier) than|prior to|as of|' +
    'starting (?:with|from|in)|was|installed|pinned (?:at|to)|only|latest|current|stable|outlook|office|excel|oracle|' +
    'anyconnect|teams|zoom|acrobat|vmware|esxi|vcenter|i(?:pad)?os(?: app)?|macos|android(?: app)?|windows|ubuntu|jdk|java|openssl|php|whatsapp|signal|telegram|slack|discord|spotify|steam|apps?|running|' +
    'chromium|electron|webview2?)) (?:[\\d.]+,? (?:through|to|until|and|or|–|-|->|→) )?\\(?v?$',
)
/** A statement on versions, anywhere before, unless it names where something comes from. */
const VERSION_TOPIC =
  /\b(?:versions?|latest|newest|regressions?|bugs?|bugfix|fix(?:e[sd])?|landed|introduced|releas(?:es?|ed)|builds?)\b(?![^\n]*\b(?:from|by|via|for|at|to|user|as) $)[^\n]*$|\breleased as $/
/** References to a part of a document directly before: `see `, `as described in `. */
const REFERENCE_BEFORE =
  /\b(?:see(?: also)?|(?:described|defined|specified|listed|shown|stated|given|required|explained|mentioned|discussed) (?:in|by|under)|according to|per|cf\.?|annex|appendix|subsection|para(?:graph)?s?|tables?|figures?|fig\.|tab\.|abb\.|abbildung|tabelle|tableau|tabla|listing|sec\.|sect\.?|siehe|voir|véase|vedi)[ (]$/
/** The start of a heading or of an entry in a list of changes: `## [`, `* `. */
const ENTRY_BEFORE = /(?:^|\n)[ \t]*(?:#{1,6} *\[?|[*-] *\[?|\[|\*\*)v?$/
const HEADING_BEFORE = /(?:^|\n)#{1,6} *\[?v?$/
/** A date, or the target of a link, after a version in a list of changes. */
const ENTRY_AFTER = /(?:\]|\*\*)?(?: ?[-–—(/]{1,2} ?(?:19|20)\d\d-\d\d-\d\d|: ?<?https?:)/y
/** An enzyme by its name, with the class of its reaction: `the kinase 2.7.11.130`. */
const ENZYME_NAME =
  /(?:kin|lip|phosphat|dehydrogen|reduct|transfer|hydrol|prote|peptid|oxid|synth|lig|isomer|amyl|nucle|polymer|ester|carboxyl|cycl|catal|hydrat|amin|oxygen|elast|glucosid|galactosid|trypsin)(?:ases?)?\b[^\d\n]{0,24}$/
const MAXIMUM_ENZYME_CLASS = 7
/**
 * What follows a version and no address: `1.10.79.216 or newer`, `+`, `release`. A cut lies after
 * the first word, except `or`, `and` and `is`.
 */
const VERSION_AFTER = new RegExp(
  '[`"\'*_]{0,2}(?:\\+(?![\\w(])|(?:[-~]|\\.)(?:rc|dev|beta|alpha|pre|post|snapshot)|' +
    ',?[ )]{1,2}(?:or|and|oder|und|ou|et|o|y|e|of|en|eller) (?:up|any|(?:newer|later|above|higher|greater|older|earlier|below|lower|' +
    'neuer|später|höher|älter|niedriger|supérieure?s?|ultérieure?s?|antérieure?s?|plus|superior(?:es)?|posterior(?:es)?|anterior(?:es)?|' +
    'successiv[ei]|superiori?|nieuwer|hoger|ouder|nyere?|senare|äldre))(?!\\p{L})|' +
    '[ )]{0,2}(?:以|及以|及更|或更|或以|이상|이하)|' +
    ' (?:releases?|builds?|binary|binaries|tarball|installer|packages?|wheel|jar|sdk|update|hotfix|patch|milestone|beta|alpha|nightly|rc\\d?|changelog|introduce[sd]|broke|breaks|fixe[sd]|crashe[sd]|adds|added|' +
    'is (?:out|latest|current|required|supported|unsupported|affected|vulnerable|deprecated|outdated))(?!\\p{L}))',
  'uy',
)
/** A log line up to the address: the time, or the whole line. */
const TIMED_BEFORE = /\d:\d\d(?:[.,]\d{1,9})?(?:Z| ?[+-]\d\d:?\d\d)?\]?[ \t]+$/
/** The rest of a line of an access log: `- - [`, `- alice [`. */
const ACCESS_LOG_AFTER = /[ \t]+(?:port \d|- ?\S{1,20} \[|(?:GET|POST|PUT|HEAD|DELETE|PATCH|OPTIONS) \/)/y
const ORIGIN_BEFORE = /\b(?:from|via|de|von) $/
/** Maximum signs between two addresses of a list. */
const LIST_GAP = 4
/** An address with a large number just before: the next one of a list. */
const ADDRESS_BEFORE = /(?<![\d.])(?:\d{1,3}\.){0,3}[12]\d\d(?:\.\d{1,3}){0,3}(?:[\s,;|"'[\]-]{1,6})$/

/**
 * Reports whether four numbers between dots are a version, a section number or an object
 * identifier, and no address.
 */
export function isVersion(segment: Segment, at: number, end: number, octets: readonly string[]): boolean {
  const { text } = segment
  if (codeAt(text, at - 1) === AT_SIGN && USER_INFO_BEFORE.test(segment.windowBefore(at))) return false
  const before = text.slice(Math.max(0, at - MAXIMUM_SIGNS), at)
  // Directly after an address it is the other end of a range.
  if (at - 1 !== segment.end && NAMED_BEFORE.test(before)) return true
  if (COMPARED_BEFORE.test(before)) return true
  if (AT_NAME_BEFORE.test(before) && !isLarge(octets)) return !REMOTE_SHELL.test(segment.windowBefore(at))
  if (text[end] === '-' && /[a-z]/i.test(text[end + 1] ?? '')) return true
  // The number of a heading.
  if (
    end - at === '1.2.3.4'.length &&
    (at === 0 || text[at - 1] === '\n') &&
    /^ [A-Z]/.test(text.slice(end, end + 2))
  )
    return true
  if (isProductVersion(segment, at, octets) || isObjectIdentifier(segment, at, end)) return true
  if (isPathData(segment.windowBefore(at))) return true
  const distance = segment.before(at).version
  if (distance <= VERSION_DISTANCE && AFTER_VERSION_WORD.test(text.slice(at - distance, at))) return true
  if (AT_NAME_BEFORE.test(before) && isVersionShaped(octets) && RELEASE_WORD.test(lineBefore(segment, at)))
    return true
  if (isSection(segment, at, end, octets)) return true
  if (isInAddress(text, at, end)) return false
  return isInVersionText(segment, at, end, octets)
}

/** Larger numbers are rare in sections. */
const MAXIMUM_SECTION = 40
/** A standard, perhaps with its part or its year: `RFC 7540 `, `ECMA-262, `. */
const STANDARD_BEFORE =
  /\b(?:rfc|iso|iec|ecma|ieee|ansi|din|itu|posix|w3c|whatwg|standard|spec(?:ification)?)[ -]?[\d.:/-]{0,12},? ?\(?$/
/** The start of a comment, and at most three words: `// Client workflow `. */
const COMMENT_BEFORE = /(?:^|\n)[ \t]*(?:\/\/+|\/?\*+|#+|--|;+)[ \t]*(?:[a-z-]+ ){0,3}\[?$/
const COMMENT_AFTER = /^(?:\]|[:.)]? )/
/** Words directly before an address. */
const ADDRESS_WORD_BEFORE =
  /(?:\bips?|ipv4|addr\w{0,5}|hosts?|server|from|to|at|peer|gateway|router|client)["'\])]?[ :=(["']{0,4}$/

/** The number of a heading in HTML: `>7.4.3.3 <b>`, `>10.3.2.5. Access`. */
const HEADING_AFTER = /^\.? (?:[A-Z]|<)/
const isHeading = (text: string, at: number, end: number, octets: readonly string[]): boolean =>
  text[at - 1] === '>' &&
  octets.every((octet) => Number(octet) < MAXIMUM_SECTION) &&
  HEADING_AFTER.test(text.slice(end, end + 3))

/** Reports whether it is the number of a section of a text that a comment names. */
function isSection(segment: Segment, at: number, end: number, octets: readonly string[]): boolean {
  if (isHeading(segment.text, at, end, octets)) return true
  const line = lineBefore(segment, at)
  if (!areSmall(octets, MAXIMUM_SECTION)) return areSmall(octets, LARGE_OCTET) && REFERENCE_BEFORE.test(line)
  const { text } = segment
  if (ADDRESS_WORD_BEFORE.test(line)) return false
  if (REFERENCE_BEFORE.test(line) || STANDARD_BEFORE.test(line)) return true
  if (text[at - 1] === '[' && text[end] === ']') return true
  return COMMENT_AFTER.test(text.slice(end, end + 2)) && COMMENT_BEFORE.test(segment.windowBefore(at))
}

const isLarge = (octets: readonly string[]): boolean => octets.some((octet) => Number(octet) >= LARGE_OCTET)

/** Reports whether all octets are below a limit, except in the private range of 10. */
const areSmall = (octets: readonly string[], limit: number): boolean =>
  octets[0] !== '10' && octets.every((octet) => Number(octet) < limit)

/**
 * Reports whether small numbers follow the name of a product, not of a machine: `Oracle 11.2.0.4`.
 */
function isProductVersion(segment: Segment, at: number, octets: readonly string[]): boolean {
  if (!areSmall(octets, LARGE_OCTET)) return false
  const name = PRODUCT_BEFORE.exec(segment.text.slice(Math.max(0, at - MAXIMUM_PRODUCT), at))?.[1]
  if (name === undefined) return false
  return !MACHINES.test(name) || SERVER_PRODUCT.test(segment.windowBefore(at, MAXIMUM_PRODUCT))
}

/**
 * Object identifiers of attributes and extensions in certificates (X.500), and of organisations.
 */
const ARCS = /^(?:2\.5\.(?:4|29)|1\.3\.(?:6|14|36|101|132))\./

const isObjectIdentifier = (segment: Segment, at: number, end: number): boolean =>
  ARCS.test(segment.text.slice(at, end)) && !NETWORK_WORD.test(segment.windowBefore(at))

/** Reports whether a URL, a port or a prefix length marks it: `//10.1.2.3`, `10.1.2.3:80`. */
function isInAddress(text: string, at: number, end: number): boolean {
  if (text.endsWith('//', at) || codeAt(text, at - 1) === AT_SIGN) return true
  const after = codeAt(text, end)
  return (after === COLON || after === SLASH) && isDigit(codeAt(text, end + 1))
}

/**
 * Decides by the words before. Small numbers are a version unless the text is about machines; large
 * ones, and those of the private range 10, are an address unless it is about versions.
 */
function isInVersionText(segment: Segment, at: number, end: number, octets: readonly string[]): boolean {
  const { text } = segment
  const window = segment.windowBefore(at)
  if (ENZYME_BEFORE.test(text.slice(Math.max(0, at - window.length), at))) return true
  const line = lineBefore(segment, at)
  if (REFERENCE_BEFORE.test(line) && !isLarge(octets)) return true
  if (isEntry(segment, window, at, end)) return true
  if (NETWORK_WORD.test(line)) return false
  if (RELEASE_WORD.test(line)) return true
  if (isVersionShaped(octets) && isVersionByContext(text, line, end, octets)) return true
  return areSmall(octets, LARGE_OCTET) && !isListed(segment, at, end, octets)
}

/** The line before an offset in lower case, as far as it counts. */
function lineBefore(segment: Segment, at: number): string {
  const window = segment.windowBefore(at)
  return window.slice(window.lastIndexOf('\n') + 1)
}

function isVersionByContext(text: string, line: string, end: number, [first]: readonly string[]): boolean {
  VERSION_AFTER.lastIndex = end
  return (
    VERSION_AFTER.test(text) ||
    STATEMENT_BEFORE.test(line) ||
    PROGRAM_WORD.test(line) ||
    VERSION_TOPIC.test(line) ||
    COORDINATES_BEFORE.test(line) ||
    (Number(first) <= MAXIMUM_ENZYME_CLASS && ENZYME_NAME.test(line))
  )
}

/** Only the last two numbers are large, if any: `91.0.172.124`. */
const isVersionShaped = ([first = '', second = '']: readonly string[]): boolean =>
  Number(first) < LARGE_OCTET && Number(second) < LARGE_OCTET

/** Reports whether it starts an entry of a list of changes: `## [1.10.0.0] - 2026-01-02`. */
function isEntry({ text }: Segment, window: string, at: number, end: number): boolean {
  if (HEADING_BEFORE.test(window)) return true
  ENTRY_AFTER.lastIndex = end
  return (ENTRY_BEFORE.test(window) || at === 0 || text[at - 1] === '\n') && ENTRY_AFTER.test(text)
}

/**
 * Reports whether small numbers without words are an address: in a log, a list of addresses, a
 * field of data, or alone.
 */
function isListed(segment: Segment, at: number, end: number, octets: readonly string[]): boolean {
  const { text } = segment
  if (segment.offset + at === 0 && end === text.length) return !areSmall(octets, SMALL_OCTET)
  if (ADDRESS_SIGNS.has(codeAt(text, at - 1)) && !ENTRY_BEFORE.test(segment.windowBefore(at))) return true
  if (segment.end > segment.from && at - segment.end <= LIST_GAP) return true
  ACCESS_LOG_AFTER.lastIndex = end
  const window = segment.windowBefore(at)
  return (
    [ORIGIN_BEFORE, TIMED_BEFORE, ADDRESS_BEFORE].some((pattern) => pattern.test(window)) ||
    ACCESS_LOG_AFTER.test(text)
  )
}
