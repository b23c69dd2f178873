// Placeholders in the shape of what they replace, from ranges that are nobody's:
// `email-1@redacted.invalid`. Each stands for a placeholder in brackets, here called its form.

import {
  type BuiltInKind,
  isBuiltIn,
  KIND_NAME,
  MAXIMUM_KIND_CHARACTERS,
  PII_KINDS,
  type PiiKind,
} from '../../core/finding.ts'

/** A part of a spelling as a regular expression: one character, or some of one class. */
type Parts = readonly string[]

/** The shape of a kind. */
interface Shape {
  readonly spellings: readonly Parts[]
  /** Returns null for a number past the end of the range. @param value whose separators it keeps */
  write(number: number, value: string): string | null
  /** Returns the number of a spelling; any number for a text that `write` never returns. */
  read(text: string): number
}

const literal = (text: string): Parts => [...text].map((one) => one.replace(/[.+]/, '\\$&'))
const repeated = (part: string, count: number): Parts => Array<string>(count).fill(part)
const digits = (count: number): Parts => repeated('\\d', count)
const COUNT = '\\d{1,9}'
const GAPS = ['', ' ', '-']

const gapIn = (value: string): string => /[- ]/.exec(value)?.[0] ?? ''
const withoutGaps = (text: string): string => text.replaceAll(/[- ]/g, '')
const padded = (number: number, length: number): string => String(number).padStart(length, '0')
const grouped = (text: string, gap: string): string => text.match(/.{1,4}/g)!.join(gap)

/** The spellings of groups, joined in each way. */
const inGroups = (...groups: readonly Parts[]): readonly Parts[] =>
  GAPS.map((gap) => groups.flatMap((group, index) => (index === 0 || gap === '' ? group : [gap, ...group])))

const EMAIL: Shape = {
  spellings: ['@', '%40'].map((at) => [
    ...literal('email-'),
    COUNT,
    ...literal(at),
    ...literal('redacted.invalid'),
  ]),
  write: (number) => `email-${number}@redacted.invalid`,
  read: (text) => Number(/\d+/.exec(text)),
}

/** Area codes of North America, in each of which 555-0100 to 555-0199 are for fiction. */
const AREAS = Array.from({ length: 789 }, (_, index) => String(index + 201)).filter(
  (code) => code[1] !== '9' && !code.endsWith('11'),
)
const LINES = 100
const PHONE_GROUPS = [digits(3), literal('555'), ['0', '1', ...digits(2)]]
const PHONE: Shape = {
  spellings: [...inGroups(literal('+1'), ...PHONE_GROUPS), [...literal('%2B1'), ...PHONE_GROUPS.flat()]],
  write(number, value) {
    const area = AREAS[Math.floor((number - 1) / LINES)]
    const line = `01${padded((number - 1) % LINES, 2)}`
    return area === undefined ? null : ['+1', area, '555', line].join(gapIn(value))
  },
  read(text) {
    const phone = withoutGaps(text).slice(-10)
    return AREAS.indexOf(phone.slice(0, 3)) * LINES + Number(phone.slice(-2)) + 1
  },
}

/** Adds the check digit of ISO/IEC 7812-1. */
function withLuhn(payload: string): string {
  const sum = [...payload].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 2 : 1)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return `${payload}${(10 - (sum % 10)) % 10}`
}

/** A range of which processors take cards in tests only. */
const CARD_RANGE = '400000'
const CARD: Shape = {
  spellings: inGroups(literal('4000'), [...literal('00'), ...digits(2)], digits(4), digits(4)),
  write: (number, value) => grouped(withLuhn(CARD_RANGE + padded(number, 9)), gapIn(value)),
  read: (text) => Number(withoutGaps(text).slice(CARD_RANGE.length, -1)),
}

/** No social security number begins so. Without hyphens it could be another number. */
const NO_AREA = '666'
const SSN: Shape = {
  spellings: [[...literal(`${NO_AREA}-`), ...digits(2), '-', ...digits(4)]],
  write(number) {
    const rest = padded(number, 6)
    return rest.length > 6 ? null : `${NO_AREA}-${rest.slice(0, 2)}-${rest.slice(2)}`
  },
  read: (text) => Number(withoutGaps(text).slice(NO_AREA.length)),
}

const BANK = 'SGAT'
const IBAN: Shape = {
  spellings: inGroups([...literal('XX'), ...digits(2)], literal(BANK), digits(4), digits(4), digits(2)),
  write(number, value) {
    const account = BANK + padded(number, 10)
    // ISO 13616: letters count from A = 10, and `XX00` is at the end.
    const whole = [...`${account}XX00`].map((one) => Number.parseInt(one, 36)).join('')
    return grouped(`XX${padded(Number(98n - (BigInt(whole) % 97n)), 2)}${account}`, gapIn(value))
  },
  read: (text) => Number(withoutGaps(text).slice('XX00'.length + BANK.length)),
}

/** Networks for documentation (RFC 5737 and RFC 3849). */
const NETWORKS = ['192.0.2.', '198.51.100.', '203.0.113.']
const HOSTS = 254
const NETWORK_6 = '2001:db8::'
const ADDRESS: Shape = {
  spellings: [
    ...NETWORKS.map((network) => [...literal(network), '\\d{1,3}']),
    [...literal(NETWORK_6), '[\\da-f]{1,4}'],
  ],
  write(number, value) {
    if (value.includes(':')) return number > 0xffff ? null : NETWORK_6 + number.toString(16)
    const network = NETWORKS[Math.floor((number - 1) / HOSTS)]
    return network === undefined ? null : network + (((number - 1) % HOSTS) + 1)
  },
  read(text) {
    if (text.includes(':')) return Number.parseInt(text.slice(NETWORK_6.length), 16)
    const network = NETWORKS.findIndex((one) => text.startsWith(one))
    return network * HOSTS + Number(text.slice(NETWORKS[network]!.length))
  },
}

/** Addresses for documentation (RFC 7042 §2.1.2). */
const STATION = ['00', '00', '5e', '00', '53']
const MAC: Shape = {
  spellings: [':', '-'].map((gap) => [...literal(STATION.join(gap)), gap, ...repeated('[\\da-f]', 2)]),
  write(number, value) {
    const last = number.toString(16).padStart(2, '0')
    return number > 0xff ? null : [...STATION, last].join(value.includes('-') ? '-' : ':')
  },
  read: (text) => Number.parseInt(text.slice(-2), 16),
}

const FIRST_DAY = Date.UTC(1800, 0, 1)
const DAY_MS = 86_400_000
/** A century before anybody who lives was born. */
const DAYS = 36_000
const BIRTHDATE: Shape = {
  spellings: [[...literal('18'), ...digits(2), '-', ...digits(2), '-', ...digits(2)]],
  write: (number) =>
    number > DAYS ? null : new Date(FIRST_DAY + (number - 1) * DAY_MS).toISOString().slice(0, 10),
  read: (text) => Math.round((Date.parse(text) - FIRST_DAY) / DAY_MS) + 1,
}

/** For a kind whose values have no form of their own. */
function word(kind: PiiKind): Shape {
  const start = `redacted-${kind.replaceAll('_', '-')}-`
  return {
    spellings: [[...literal(start), COUNT]],
    write: (number) => start + number,
    read: (text) => Number(text.slice(start.length)),
  }
}

const OPEN_START = 'redacted-'

/** Spellings of the words of open kinds. */
const OPEN_SPELLING: Parts = [...literal(OPEN_START), `[a-z-]{1,${MAXIMUM_KIND_CHARACTERS}}`, '-', COUNT]

/** For a number whose kind has no range of numbers: too long for an id, too short for a card. */
function numeral(kind: BuiltInKind): Shape {
  const start = `9000${padded(PII_KINDS.indexOf(kind), 2)}`
  return {
    spellings: [[...literal(start), ...digits(9)]],
    write: (number) => start + padded(number, 9),
    read: (text) => Number(text.slice(start.length)),
  }
}

const TEXTS: Partial<Record<string, Shape>> = {
  email: EMAIL,
  phone: PHONE,
  credit_card: CARD,
  us_ssn: SSN,
  iban: IBAN,
  ip_address: ADDRESS,
  mac_address: MAC,
  date_of_birth: BIRTHDATE,
}
const shapeOfText = (kind: PiiKind): Shape => TEXTS[kind] ?? word(kind)
/** In other ranges, numbers without signs may be those of people in some country. */
const shapeOfNumber = (kind: BuiltInKind): Shape => (kind === 'credit_card' ? CARD : numeral(kind))

const formOf = (kind: PiiKind, number: number): string => `[${kind.toUpperCase()}_${number}]`
const FORM = /^\[([A-Z_]+)_(\d+)\]$/

/**
 * Returns the shape for a form; the form itself where the range has no more.
 * @param value that it replaces; its separators are kept
 * @param isNumber whether the value is a number of JSON
 */
export function shaped(form: string, value: string, isNumber: boolean): string {
  const [, label = '', number] = FORM.exec(form)!
  const kind = label.toLowerCase()
  // Open kinds have no numbers of their own.
  if (isNumber && !isBuiltIn(kind)) return form
  const shape = isNumber && isBuiltIn(kind) ? shapeOfNumber(kind) : shapeOfText(kind)
  return shape.write(Number(number), isNumber ? '' : value) ?? form
}

/** The shapes of built-in kinds, each with its kind. */
const ALL = PII_KINDS.flatMap((kind) =>
  [...new Set([shapeOfText(kind), shapeOfNumber(kind)])].map((shape) => ({ kind, shape })),
)

const source = (parts: Parts): string => parts.join('')
/** Matches the beginnings of a spelling at the end of a text, the whole spelling included. */
const beginning = (parts: Parts): string =>
  parts.reduceRight((rest, part) => `${part}(?:$|${rest})`, '[.:]?$')

const NOT_AFTER = '(?<![\\w.+@%-])'
const NOT_BEFORE = '(?![\\w@-]|[.:]\\w)'
const SPELLINGS = [...ALL.flatMap(({ shape }) => shape.spellings), OPEN_SPELLING]
const ANYWHERE = new RegExp(`${NOT_AFTER}(?:${SPELLINGS.map(source).join('|')})${NOT_BEFORE}`, 'g')
const AT_END = new RegExp(`${NOT_AFTER}(?:${SPELLINGS.map(beginning).join('|')})`)
const MATCHERS = ALL.map(({ kind, shape }) => ({
  kind,
  shape,
  matches: new RegExp(`^(?:${shape.spellings.map(source).join('|')})$`),
}))

/** Longest shape with what is before and after it, UTF-16 units. */
const MAXIMUM_CHARACTERS = 56

/** A shape in a text. Offsets are UTF-16 code units. */
export interface FoundShape {
  readonly form: string
  readonly kind: PiiKind
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

const BEFORE = new RegExp(`${NOT_AFTER}$`)
const AFTER = new RegExp(`^${NOT_BEFORE}`)

/** Reports whether a shape would be found between these texts. */
export const isReadBetween = (before: string, after: string): boolean =>
  BEFORE.test(before) && AFTER.test(after)

/** Finds the shapes in a text, in order. */
export function shapesIn(text: string): FoundShape[] {
  const found: FoundShape[] = []
  for (const { 0: written, index } of text.matchAll(ANYWHERE)) {
    const form = formIn(written)
    if (form !== null) found.push({ ...form, start: index, end: index + written.length })
  }
  return found
}

/** Returns the form for a text that is a shape; null for any other. */
export const formOfShape = (text: string): string | null => formIn(text)?.form ?? null

/** Returns what a spelling stands for; null for one that is never written. */
function formIn(written: string): Pick<FoundShape, 'form' | 'kind'> | null {
  for (const { kind, shape, matches } of MATCHERS) {
    if (!matches.test(written)) continue
    const number = shape.read(written)
    const plain = decodeURIComponent(written).replace(/^\+/, '')
    if (number > 0 && shape.write(number, written)?.replace(/^\+/, '') === plain)
      return { kind, form: formOf(kind, number) }
  }
  return openFormIn(written)
}

/** Returns what the word of an open kind stands for; null for another text. */
function openFormIn(written: string): Pick<FoundShape, 'form' | 'kind'> | null {
  const [, name, digits] = OPEN_WORD.exec(written) ?? []
  if (name === undefined || !/^[1-9]/.test(digits!)) return null
  const kind = name.replaceAll('-', '_')
  return isBuiltIn(kind) || !KIND_NAME.test(kind) ? null : { kind, form: formOf(kind, Number(digits)) }
}

const OPEN_WORD = new RegExp(`^${OPEN_START}([a-z-]{1,${MAXIMUM_KIND_CHARACTERS}})-(${COUNT})$`)

/** Offset at which the end of a text may begin a shape; the text's length otherwise. */
export function shapeBegins(text: string): number {
  const from = Math.max(0, text.length - MAXIMUM_CHARACTERS)
  const found = AT_END.exec(text.slice(Math.max(0, from - 1)))
  return found === null ? text.length : Math.max(0, from - 1) + found.index
}
