// Grants memory and time to the scan of a long body, by its bytes, its values and its digits,
// before it is parsed.

import { weighSteps } from '../../chat/json-weight.ts'
import { isDigit } from '../../core/ascii.ts'
import { Budget } from '../../core/budget.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { inSlices, STEP_UNITS } from '../../core/steps.ts'
import { overloaded } from '../call/admission.ts'
import { MAXIMUM_FINDINGS } from './prompt-values.ts'

/**
 * Weight of values that every process has memory for: 20,000 messages or 2,000 tools of ordinary
 * size.
 */
const ORDINARY_WEIGHT = 1024 * 1024

/**
 * Weight of a digit besides its byte. Numbers take a hundred times the time of prose, so few bodies
 * of them run at a time: each is answered as soon as if it were alone.
 */
const DIGIT_WEIGHT = 7
/** Bytes of a body that are read to estimate its digits. */
const SAMPLED_BYTES = 4096

/** Longest wait of a prompt for its scan. A client that waits longer has often given up. */
const MAXIMUM_WAIT_MS: Milliseconds = 40_000

/** Weight of a finding with its value and its placeholder, as in `weighSteps`. */
const FINDING_WEIGHT = 25

/**
 * Memory that a body takes at most while it is parsed, scanned and written, for each byte in a long
 * string and for any other, measured with an address in each message.
 */
const LONG_COPIES = 5
const SHORT_COPIES = 15

/** A body is long when its scan takes several slices; a short one needs no turn. */
export const isLongBody = (bytes: number): boolean => bytes > STEP_UNITS

/** Memory for long bodies while they are scanned, in units of `scanWeight`. */
export class ScanMemory extends Budget {
  /** Memory for one body while it is parsed, scanned and written, bytes. */
  readonly bodyBytes: number

  readonly #makeRoom: (weight: number) => void

  /** @param makeRoom collects garbage when memory is short, before a body of this weight */
  constructor(size: number, bodyBytes: number, makeRoom: (weight: number) => void = () => {}) {
    super(size)
    this.bodyBytes = bodyBytes
    this.#makeRoom = makeRoom
  }

  /**
   * Waits until there is memory for a prompt.
   * @param limitMs longest wait
   * @returns releases it, calling it again has no effect; null when there was none in time
   */
  async waitForPrompt(weight: number, limitMs: Milliseconds): Promise<(() => void) | null> {
    const release = await this.waitAtMost(weight, limitMs)
    if (release !== null) this.#makeRoom(weight)
    return release
  }

  /**
   * Waits until there is memory for an answer, before all prompts that wait: its call holds memory
   * already.
   * @returns releases it; calling it again has no effect
   */
  async waitForAnswer(weight: number): Promise<() => void> {
    const release = await this.wait(weight, true)
    this.#makeRoom(weight)
    return release
  }
}

/** What a scan waits for. */
export interface ScanTurn {
  readonly searches: ScanMemory
  readonly clock: Pick<Clock, 'monotonic'>
}

/**
 * Returns what a long body takes of the budget. One with more bytes than the budget is granted
 * alone. Values are refused instead, because they take memory all at the same time.
 * @returns null for a body that there is never enough memory for
 */
export async function scanWeight({ searches, clock }: ScanTurn, body: Buffer): Promise<number | null> {
  const { values, longBytes } = await inSlices(weighSteps(body), clock)
  const neededBytes = longBytes * LONG_COPIES + (body.length - longBytes) * SHORT_COPIES
  if (values > Math.max(searches.size, ORDINARY_WEIGHT) || neededBytes > searches.bodyBytes) return null
  return Math.max(body.length, values) + DIGIT_WEIGHT * digitsIn(body)
}

/** Estimates the count of digits. */
function digitsIn(body: Buffer): number {
  const stride = Math.max(1, Math.floor(body.length / SAMPLED_BYTES))
  let digits = 0
  for (let at = 0; at < body.length; at += stride) {
    if (isDigit(body[at]!)) digits++
  }
  return digits * stride
}

/** Maximum findings of one body that there is memory for. */
export const maxFindings = (searches: Budget): number =>
  Math.min(MAXIMUM_FINDINGS, Math.floor(Math.max(searches.size, ORDINARY_WEIGHT) / FINDING_WEIGHT))

/**
 * Waits until there is memory and time to parse and scan a request body.
 * @param limitMs longest wait
 * @returns releases it; calling it again has no effect
 * @throws GatewayError (rejects) `body_too_large` for more values than the process has memory for,
 * `overloaded` after `limitMs`
 */
export async function waitToScan(
  turn: ScanTurn,
  body: Buffer,
  limitMs: Milliseconds = MAXIMUM_WAIT_MS,
): Promise<() => void> {
  if (!isLongBody(body.length)) return () => {}
  const weight = await scanWeight(turn, body)
  if (weight !== null) {
    const release = await turn.searches.waitForPrompt(weight, limitMs)
    if (release !== null) return release
    throw overloaded(
      `Other long prompts were scanned for ${limitMs / 1000} seconds, and this one had to wait; send the call again.`,
    )
  }
  throw new GatewayError(
    'body_too_large',
    'The body has more messages, parts, tools or other values than the memory of the gateway allows; send fewer or give it more memory.',
  )
}

/**
 * Waits until there is memory to parse and scan a long answer.
 * @throws GatewayError (rejects) `upstream_unavailable` for more values than `waitToScan` allows
 */
export async function waitToScanAnswer(turn: ScanTurn, received: Buffer): Promise<() => void> {
  const weight = await scanWeight(turn, received)
  if (weight !== null) return await turn.searches.waitForAnswer(weight)
  throw new GatewayError(
    'upstream_unavailable',
    "The upstream's answer has more values than the memory of the gateway allows.",
  )
}
