// The patterns of every rule type but keywords: kinds of personal data, an injection threshold, a token limit.
// Each reader answers the value or the sentence that explains what is wrong with it.

import type { Milliseconds } from '../core/clock.ts'
import { PII_KINDS, type PiiKind } from '../core/finding.ts'
import { nearest } from '../core/suggest.ts'

/** A value that was read, or why it could not be. */
export type Parsed<T> = { readonly value: T } | { readonly message: string }

/** Kinds a `pii` rule names, or `*` for every one. */
export type KindPattern = '*' | readonly PiiKind[]

export function parseKinds(pattern: string): Parsed<KindPattern> {
  const names = pattern.split('|').map((name) => name.trim())
  if (names.length === 1 && names[0] === '*') return { value: '*' }
  const unknown = names.find((name) => !isKind(name))
  if (unknown === undefined) return { value: [...new Set(names)].filter(isKind) }
  const all = PII_KINDS.join(', ')
  if (unknown === '*') return { message: '`*` stands for every kind and cannot be combined with others' }
  if (unknown === '') return { message: `must name kinds separated by \`|\`, or \`*\` (kinds: ${all})` }
  const close = nearest(unknown, PII_KINDS)
  const hint = close === null ? '' : `; did you mean \`${close}\`?`
  return { message: `\`${shorten(unknown)}\` is not a kind of personal data${hint} (kinds: ${all})` }
}

const isKind = (name: string): name is PiiKind => (PII_KINDS as readonly string[]).includes(name)

const THRESHOLD = /^score\s*>=\s*(0(?:\.\d{1,6})?|1(?:\.0{1,6})?)$/

/** The threshold of a `prompt_injection` rule; null stands for the model's own. */
export function parseThreshold(pattern: string): Parsed<number | null> {
  const text = pattern.trim()
  if (text === '') return { value: null }
  const threshold = THRESHOLD.exec(text)?.[1]
  if (threshold !== undefined && Number(threshold) > 0) return { value: Number(threshold) }
  return { message: 'must be empty, or a threshold above 0 and up to 1 such as `score>=0.70`' }
}

/** So many tokens of one key in any window of that length. */
export interface TokenLimit {
  readonly tokens: number
  readonly windowMs: Milliseconds
}

const UNITS_MS: Readonly<Record<string, Milliseconds>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const SUFFIXES: Readonly<Record<string, number>> = { '': 1, k: 1000, M: 1_000_000 }
/** Counters are kept for a whole window; a longer one belongs into billing, not into a gateway. */
const MAX_WINDOW_MS: Milliseconds = 30 * 86_400_000
/** A trillion: far above any plan, far below where integers stop being exact. */
const MAX_TOKENS = 1e12
const LIMIT = /^(\d{1,15})([kM]?)\s*\/\s*(\d{1,9})([smhd])$/

export function parseLimit(pattern: string): Parsed<TokenLimit> {
  const [, amount = '', suffix = '', length = '', unit = ''] = LIMIT.exec(pattern.trim()) ?? []
  if (amount === '') {
    return {
      message: 'must be <tokens>/<window>, e.g. `60000/1m` or `2M/1d` (suffixes k, M; windows s, m, h, d)',
    }
  }
  const tokens = Number(amount) * SUFFIXES[suffix]!
  const windowMs = Number(length) * UNITS_MS[unit]!
  if (tokens < 1 || tokens > MAX_TOKENS) return { message: 'tokens must be from 1 to 1,000,000,000,000' }
  if (windowMs < 1000 || windowMs > MAX_WINDOW_MS) return { message: 'the window must be from 1s to 30d' }
  return { value: { tokens, windowMs } }
}

/** Names repeated in a message are cut to this. */
const MAX_SHOWN_CHARACTERS = 40

const shorten = (text: string): string =>
  text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text
