// Parses the pattern of a rule by the rule's type: keywords, kinds of personal data, an injection
// threshold, a limit, a list of models or a capture mode. Messages say what is wrong and what is
// allowed; they follow the name of the field.

import type { Milliseconds } from '../core/clock.ts'
import { PII_KINDS, type PiiKind } from '../core/finding.ts'
import { readUsd } from '../core/money.ts'
import { nearest } from '../core/suggest.ts'
import { type ParsedPattern, parseKeywords } from '../keyword/pattern-index.ts'
import { CAPTURE_MODES, type CaptureMode } from './capture.ts'
import { CALENDAR_MONTH } from './limit.ts'
import type { RuleDeclaration, RuleType } from './rule.ts'

/** The parsed pattern of a rule. */
export type RulePattern =
  | { readonly type: 'keyword_block'; readonly keywords: ParsedPattern }
  | { readonly type: 'pii'; readonly kinds: KindPattern }
  /** A null threshold means the model's own. */
  | { readonly type: 'prompt_injection'; readonly threshold: number | null }
  | { readonly type: 'rate_limit'; readonly limit: UsageLimit }
  | { readonly type: 'model_access'; readonly globs: readonly string[] }
  | { readonly type: 'capture'; readonly capture: CaptureMode }

/** Kinds that a `pii` rule names; `*` for all. */
export type KindPattern = '*' | readonly PiiKind[]

/** At most `amount` of `unit` in any window of `windowMs`; for `parallel`, at any time. */
export interface UsageLimit {
  readonly unit: 'tokens' | 'requests' | 'parallel' | 'usd'
  /** For `usd` in 10⁻⁹ USD. */
  readonly amount: number
  /** CALENDAR_MONTH for a month of the calendar, UTC; 0 for `parallel`. */
  readonly windowMs: Milliseconds
}

type PatternRefusal = { readonly messages: readonly string[] }

const refuse = (message: string): PatternRefusal => ({ messages: [message] })

export function parsePattern(
  type: RuleType,
  pattern: RuleDeclaration['pattern'],
): RulePattern | PatternRefusal {
  if (type === 'model_access') return parseModels(pattern)
  if (typeof pattern !== 'string') return refuse('must be a text; only model_access rules have a list')
  const control = controlCharacterIn(pattern)
  if (control !== null) return refuse(control)
  switch (type) {
    case 'keyword_block': {
      const keywords = parseKeywords(pattern)
      return 'messages' in keywords ? keywords : { type, keywords }
    }
    case 'pii':
      return parseKinds(pattern)
    case 'prompt_injection':
      return parseThreshold(pattern)
    case 'rate_limit':
      return parseLimit(pattern)
    case 'capture':
      return parseCapture(pattern)
  }
}

/** Every control character but tab and the line ends LF, CR and NEL (U+0085). */
const CONTROL = /[\0-\x08\x0B\x0C\x0E-\x1F\x7F-\x84\x86-\x9F]/
/** Control characters that double quotes in YAML make of an escape. */
const YAML_ESCAPES: Readonly<Record<string, string>> = {
  '\0': '\\0',
  '\x07': '\\a',
  '\b': '\\b',
  '\v': '\\v',
  '\f': '\\f',
  '\x1B': '\\e',
}

/**
 * Returns the error of a text with a control character, or null. No text that is searched keeps
 * one: it comes from an escape such as `"\b"` in double quotes.
 */
export function controlCharacterIn(text: string): string | null {
  const control = CONTROL.exec(text)?.[0]
  if (control === undefined) return null
  const code = `U+${control.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
  const escaped = YAML_ESCAPES[control]
  if (escaped === undefined) return `contains the control character ${code}; remove it, or use single quotes`
  return `contains the control character ${code}, which \`${escaped}\` means in double quotes; use single quotes, or write \`\\${escaped}\``
}

function parseKinds(pattern: string): RulePattern | PatternRefusal {
  const names = pattern.split('|').map((name) => name.trim())
  if (names.length === 1 && names[0] === '*') return { type: 'pii', kinds: '*' }
  const unknown = names.find((name) => !isKind(name))
  if (unknown === undefined) return { type: 'pii', kinds: [...new Set(names)].filter(isKind) }
  const all = PII_KINDS.join(', ')
  if (unknown === '*') return refuse('`*` means every kind and cannot be combined with others')
  if (unknown === '') return refuse(`must name kinds separated by \`|\`, or be \`*\` (kinds: ${all})`)
  const close = nearest(unknown, PII_KINDS)
  const hint = close === null ? '' : `; did you mean \`${close}\`?`
  return refuse(`\`${shorten(unknown)}\` is not a kind of personal data${hint} (kinds: ${all})`)
}

const isKind = (name: string): name is PiiKind => (PII_KINDS as readonly string[]).includes(name)

const THRESHOLD = /^score\s*>=\s*(0(?:\.\d{1,6})?|1(?:\.0{1,6})?)$/

function parseThreshold(pattern: string): RulePattern | PatternRefusal {
  const text = pattern.trim()
  if (text === '') return { type: 'prompt_injection', threshold: null }
  const threshold = Number(THRESHOLD.exec(text)?.[1])
  if (threshold > 0) return { type: 'prompt_injection', threshold }
  return refuse('must be empty, or a threshold above 0 and up to 1 such as `score>=0.70`')
}

function parseModels(pattern: RuleDeclaration['pattern']): RulePattern | PatternRefusal {
  if (typeof pattern === 'string')
    return refuse('must be a list of globs of the models that are allowed, such as ["gpt-*", "!gpt-secret"]')
  for (const [index, glob] of pattern.entries()) {
    const control = controlCharacterIn(glob)
    if (control !== null) return refuse(`item ${index + 1} ${control}`)
    if (glob === '!') return refuse(`item ${index + 1} has no glob after \`!\``)
  }
  return { type: 'model_access', globs: pattern }
}

const UNITS_MS: Readonly<Record<string, Milliseconds>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const SUFFIXES: Readonly<Record<string, number>> = { '': 1, k: 1000, M: 1_000_000 }
/** Counters are kept for a whole window. A longer one belongs in billing, not in a gateway. */
const MAXIMUM_WINDOW_MS: Milliseconds = 30 * 86_400_000
/** A trillion: far above any plan, far below where integers stop being exact. */
const MAXIMUM_AMOUNT = 1e12
const MAXIMUM_PARALLEL = 100_000
const MONTH = 'mo'
const LIMIT = /^(\d{1,15})([kM]?)\s*(tokens|requests|parallel)?(?:\s*\/\s*(\d{1,9})(s|m|h|d|mo))?$/
/** A million USD, so that the sums of a window stay exact. */
const MAXIMUM_USD = 1_000_000
const MONEY = /^(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]{3}|[$€£¥])\s*\/\s*(\d{1,9})(s|m|h|d|mo)$/
const LIMIT_FORM =
  'must be <tokens>/<window>, <n> requests/<window>, <n> parallel or <amount> USD/<window>, e.g. `60000/1m`, `2M tokens/1d`, `100 requests/1mo`, `5 parallel` or `20 USD/1d` (suffixes k, M; windows s, m, h, d and 1mo)'

function parseLimit(pattern: string): RulePattern | PatternRefusal {
  const money = MONEY.exec(pattern.trim())
  if (money !== null) return parseMoney(money)
  const [, written = '', suffix = '', name = 'tokens', length, time] = LIMIT.exec(pattern.trim()) ?? []
  const unit = name as UsageLimit['unit']
  if (written === '' || (unit === 'parallel') !== (length === undefined)) return refuse(LIMIT_FORM)
  const amount = Number(written) * SUFFIXES[suffix]!
  const most = unit === 'parallel' ? MAXIMUM_PARALLEL : MAXIMUM_AMOUNT
  if (amount < 1 || amount > most) return refuse(`${unit} must be from 1 to ${most.toLocaleString('en')}`)
  if (unit === 'parallel') return { type: 'rate_limit', limit: { unit, amount, windowMs: 0 } }
  return limitOf(unit, amount, Number(length), time!)
}

function parseMoney([, written = '', currency = '', length, time]: RegExpExecArray):
  | RulePattern
  | PatternRefusal {
  if (currency !== 'USD') return refuse(`\`${currency}\` is not a currency of limits; write USD`)
  const amount = readUsd(written)
  if (amount === null || amount < 1 || amount > MAXIMUM_USD * 1e9)
    return refuse(`USD must be above 0 and at most ${MAXIMUM_USD.toLocaleString('en')}`)
  return limitOf('usd', amount, Number(length), time!)
}

function limitOf(
  unit: UsageLimit['unit'],
  amount: number,
  length: number,
  time: string,
): RulePattern | PatternRefusal {
  if (time === MONTH) {
    if (length !== 1) return refuse('a window of the calendar is one month, `1mo`')
    return { type: 'rate_limit', limit: { unit, amount, windowMs: CALENDAR_MONTH } }
  }
  const windowMs = length * UNITS_MS[time]!
  if (windowMs < 1000 || windowMs > MAXIMUM_WINDOW_MS)
    return refuse('the window must be from 1s to 30d, or 1mo')
  return { type: 'rate_limit', limit: { unit, amount, windowMs } }
}

function parseCapture(pattern: string): RulePattern | PatternRefusal {
  const capture = CAPTURE_MODES.find((mode) => mode === pattern.trim())
  return capture === undefined ? refuse('must be `full` or `metadata`') : { type: 'capture', capture }
}

/** Longest name that a message repeats, characters. */
const MAXIMUM_SHOWN_CHARACTERS = 40

const shorten = (text: string): string =>
  text.length > MAXIMUM_SHOWN_CHARACTERS ? `${text.slice(0, MAXIMUM_SHOWN_CHARACTERS)}…` : text
