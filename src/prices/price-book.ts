// What models cost: the prices of the first glob that matches a model, and the cost of a call.

import { divide, MAXIMUM_NANO_USD, type NanoUsd } from '../core/money.ts'
import { compileGlob } from '../policy/glob.ts'

/** Prices of a million tokens. */
export interface TokenPrices {
  readonly input: NanoUsd
  /** Input that the provider had in its cache. */
  readonly cachedInput: NanoUsd
  /** Input that the provider wrote into its cache, for minutes and for an hour. */
  readonly cacheWrite: NanoUsd
  readonly cacheWrite1h: NanoUsd
  readonly audioInput: NanoUsd
  readonly output: NanoUsd
  /** Output that the model did not show. */
  readonly reasoning: NanoUsd
  readonly audioOutput: NanoUsd
}

/** Prices of tokens, which may rise with the length of the prompt. */
export interface TierPrices extends TokenPrices {
  /** The prices of all tokens of a call whose prompt is longer than `tokens`; null without such. */
  readonly above: { readonly tokens: number; readonly prices: TokenPrices } | null
}

/** The prices of a model. */
export interface Price extends TierPrices {
  /** Prices by the service tier that the answer names, in place of the usual ones. */
  readonly tiers: ReadonlyMap<string, TierPrices>
  readonly request: NanoUsd
  /** An image of the prompt. */
  readonly image: NanoUsd
}

/** What a call used. Parts of the prompt and of the answer are counted in it. */
export interface PricedUsage {
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  /** A part of `cacheWriteTokens`. */
  readonly cacheWrite1hTokens: number
  readonly audioInputTokens: number
  readonly completionTokens: number
  readonly reasoningTokens: number
  readonly audioOutputTokens: number
  readonly images: number
  /** Service tier of the call; null when it is not known. */
  readonly tier: string | null
}

export const NO_USAGE: PricedUsage = {
  promptTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  audioInputTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
  audioOutputTokens: 0,
  images: 0,
  tier: null,
}

/** A line of a price file. */
export interface PriceLine {
  /** Models that it is for. */
  readonly glob: string
  readonly price: Price
}

/** A glob that names no model: an answer may name any, and the call's own name is more exact. */
const FOR_ALL = /^[*?]+$/
const MILLION = 1_000_000n
/** Models whose price is remembered; a client can name any. */
const MAXIMUM_REMEMBERED = 1000

export class PriceBook {
  /** SHA-256 of the text of the file, hexadecimal; empty without a file. */
  readonly revision: string
  readonly lines: readonly PriceLine[]
  /** Whether some images cost extra, so that they must be counted. */
  readonly pricesImages: boolean
  readonly #tests: readonly ((model: string) => boolean)[]
  readonly #remembered = new Map<string, Price | null>()

  constructor(lines: readonly PriceLine[], revision: string) {
    this.lines = lines
    this.revision = revision
    this.pricesImages = lines.some(({ price }) => price.image > 0)
    this.#tests = lines.map(({ glob }) => compileGlob(glob))
  }

  /** The price of a model; null when no line is for it. */
  priceOf(model: string): Price | null {
    const known = this.#remembered.get(model)
    if (known !== undefined) return known
    const price = this.lines[this.#tests.findIndex((matches) => matches(model))]?.price ?? null
    if (this.#remembered.size === MAXIMUM_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(model, price)
    return price
  }

  /** Reports whether a line is for a model, not counting one for all models. */
  names(model: string): boolean {
    const line = this.lines[this.#tests.findIndex((matches) => matches(model))]
    return line !== undefined && !FOR_ALL.test(line.glob)
  }
}

/** A book without prices. */
export const NO_PRICES = new PriceBook([], '')

/** The cost of a call, rounded to whole units of 10⁻⁹ USD, halves up; at most MAXIMUM_NANO_USD. */
export function costOf(price: Price, usage: PricedUsage): NanoUsd {
  const prices = tokenPricesOf(price, usage)
  // Counts that disagree are cut, so that no token has two prices.
  let prompt = usage.promptTokens
  let answer = usage.completionTokens
  const ofPrompt = (count: number): number => {
    const part = Math.min(count, prompt)
    prompt -= part
    return part
  }
  const ofAnswer = (count: number): number => {
    const part = Math.min(count, answer)
    answer -= part
    return part
  }
  const longWrite = Math.min(usage.cacheWrite1hTokens, usage.cacheWriteTokens)
  const ofTokens =
    times(ofPrompt(usage.cachedTokens), prices.cachedInput) +
    times(ofPrompt(longWrite), prices.cacheWrite1h) +
    times(ofPrompt(usage.cacheWriteTokens - longWrite), prices.cacheWrite) +
    times(ofPrompt(usage.audioInputTokens), prices.audioInput) +
    times(prompt, prices.input) +
    times(ofAnswer(usage.audioOutputTokens), prices.audioOutput) +
    times(ofAnswer(usage.reasoningTokens), prices.reasoning) +
    times(answer, prices.output)
  const cost = divide(ofTokens, MILLION) + BigInt(price.request) + times(usage.images, price.image)
  return cost > BigInt(MAXIMUM_NANO_USD) ? MAXIMUM_NANO_USD : Number(cost)
}

/** The prices of the tokens of a call, by its service tier and the length of its prompt. */
export function tokenPricesOf(
  price: Price,
  { tier, promptTokens }: Pick<PricedUsage, 'tier' | 'promptTokens'>,
): TokenPrices {
  const prices = (tier === null ? undefined : price.tiers.get(tier)) ?? price
  return prices.above !== null && promptTokens > prices.above.tokens ? prices.above.prices : prices
}

const times = (count: number, price: NanoUsd): bigint => BigInt(count) * BigInt(price)
