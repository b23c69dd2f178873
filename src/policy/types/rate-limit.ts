// Rules of type rate_limit: tokens, requests, money or calls at a time.

import type { Milliseconds } from '../../core/clock.ts'
import { readUsd } from '../../core/money.ts'
import { CALENDAR_MONTH, RUN_WINDOW } from '../limit.ts'
import { type PatternRefusal, type RuleType, refuse } from '../rule-type.ts'

interface LimitPattern {
  readonly type: 'rate_limit'
  readonly limit: UsageLimit
}

/** At most `amount` of `unit` in any window of `windowMs`; for `parallel`, at any time. */
export interface UsageLimit {
  readonly unit: 'tokens' | 'requests' | 'parallel' | 'tool_calls' | 'usd'
  /** For `usd` in 10⁻⁹ USD. */
  readonly amount: number
  /** CALENDAR_MONTH for a month of the calendar, UTC; RUN_WINDOW for a run; 0 for `parallel`. */
  readonly windowMs: Milliseconds
}

export const RATE_LIMIT: RuleType<LimitPattern> = {
  name: 'rate_limit',
  actions: ['block', 'monitor'],
  directions: { allowed: [], because: 'a limit counts the whole call' },
  isCounted: true,
  checks: 'tokens, requests, tool calls or money over time, or calls at a time',
  writing:
    '`60000 tokens/1m` (`60000/1m` for short), `100 requests/1mo`, `20 USD/1d`, `50 tool_calls/run` or `5 parallel`; windows s, m, h, d, 1mo (the calendar month in UTC), and with `per: run` also run',
  form: { isList: false, hint: 'Such as 2M tokens/1d, 100 requests/1mo, 5 parallel or 20 USD/1d.' },
  parse(written, { per }) {
    const parsed = parseLimit(String(written))
    if ('messages' in parsed || parsed.limit.windowMs !== RUN_WINDOW || per === 'run') return parsed
    return refuse('has the window `run`, which needs `per: run`; or write a time such as `1d`')
  },
  includes(wide, narrow) {
    const [outer, inner] = [wide.pattern.limit, narrow.pattern.limit]
    const isAlike = outer.unit === inner.unit && wide.rule.per === narrow.rule.per
    return isAlike && outer.amount <= inner.amount && outer.windowMs >= inner.windowMs
  },
}

const UNITS_MS: Readonly<Record<string, Milliseconds>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The window of a limit as a pattern writes it; null for calls at a time. */
export function windowText(windowMs: Milliseconds): string | null {
  if (windowMs === 0) return null
  if (windowMs === RUN_WINDOW) return RUN
  if (windowMs === CALENDAR_MONTH) return `1${MONTH}`
  const [name, unitMs] = Object.entries(UNITS_MS).findLast(([, length]) => windowMs % length === 0)!
  return `${windowMs / unitMs}${name}`
}

const SUFFIXES: Readonly<Record<string, number>> = { '': 1, k: 1000, M: 1_000_000 }
/** Counters are kept for a whole window. A longer one belongs in billing, not in a gateway. */
const MAXIMUM_WINDOW_MS: Milliseconds = 30 * 86_400_000
/** A trillion: far above any plan, far below where integers stop being exact. */
const MAXIMUM_AMOUNT = 1e12
const MAXIMUM_PARALLEL = 100_000
const MONTH = 'mo'
const RUN = 'run'
const LIMIT =
  /^(\d{1,15})([kM]?)\s*(tokens|requests|parallel|tool_calls)?(?:\s*\/\s*(?:(\d{1,9})(s|m|h|d|mo)|(run)))?$/
/** A million USD, so that the sums of a window stay exact. */
const MAXIMUM_USD = 1_000_000
const MONEY = /^(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]{3}|[$€£¥])\s*\/\s*(?:(\d{1,9})(s|m|h|d|mo)|(run))$/
const LIMIT_FORM =
  'must be <tokens>/<window>, <n> requests/<window>, <n> tool_calls/<window>, <n> parallel or <amount> USD/<window>, e.g. `60000/1m`, `2M tokens/1d`, `100 requests/1mo`, `50 tool_calls/run`, `5 parallel` or `20 USD/1d` (suffixes k, M; windows s, m, h, d, 1mo and run)'

function parseLimit(pattern: string): LimitPattern | PatternRefusal {
  const money = MONEY.exec(pattern.trim())
  if (money !== null) return parseMoney(money)
  const [, written = '', suffix = '', name = 'tokens', length, unitOfTime, run] =
    LIMIT.exec(pattern.trim()) ?? []
  const time = unitOfTime ?? run
  const unit = name as UsageLimit['unit']
  if (written === '' || (unit === 'parallel') !== (time === undefined)) return refuse(LIMIT_FORM)
  const amount = Number(written) * SUFFIXES[suffix]!
  const most = unit === 'parallel' ? MAXIMUM_PARALLEL : MAXIMUM_AMOUNT
  if (amount < 1 || amount > most) return refuse(`${unit} must be from 1 to ${most.toLocaleString('en')}`)
  if (unit === 'parallel') return { type: 'rate_limit', limit: { unit, amount, windowMs: 0 } }
  return limitOf(unit, amount, Number(length), time!)
}

function parseMoney([, written = '', currency = '', length, time, run]: RegExpExecArray):
  | LimitPattern
  | PatternRefusal {
  if (currency !== 'USD') return refuse(`\`${currency}\` is not a currency of limits; write USD`)
  const amount = readUsd(written)
  if (amount === null || amount < 1 || amount > MAXIMUM_USD * 1e9)
    return refuse(`USD must be above 0 and at most ${MAXIMUM_USD.toLocaleString('en')}`)
  return limitOf('usd', amount, Number(length), time ?? run!)
}

function limitOf(
  unit: UsageLimit['unit'],
  amount: number,
  length: number,
  time: string,
): LimitPattern | PatternRefusal {
  if (time === RUN) return { type: 'rate_limit', limit: { unit, amount, windowMs: RUN_WINDOW } }
  if (time === MONTH) {
    if (length !== 1) return refuse('a window of the calendar is one month, `1mo`')
    return { type: 'rate_limit', limit: { unit, amount, windowMs: CALENDAR_MONTH } }
  }
  const windowMs = length * UNITS_MS[time]!
  if (windowMs < 1000 || windowMs > MAXIMUM_WINDOW_MS)
    return refuse('the window must be from 1s to 30d, or 1mo')
  return { type: 'rate_limit', limit: { unit, amount, windowMs } }
}
