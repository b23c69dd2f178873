// What models cost: the prices of the first glob that matches a model, and the cost of a call.

import { divide, MAX_NANO_USD, type NanoUsd } from '../core/money.ts'
import { compileGlob } from '../policy/glob.ts'

/** The prices of a model. Those of tokens are for a million. */
export interface Price {
  readonly input: NanoUsd
  /** Input that the provider had in its cache. */
  readonly cachedInput: NanoUsd
  readonly output: NanoUsd
  /** Output that the model did not show. */
  readonly reasoning: NanoUsd
  readonly request: NanoUsd
  /** An image of the prompt. */
  readonly image: NanoUsd
}

/** What a call used. */
export interface PricedUsage {
  readonly promptTokens: number
  /** The part of `promptTokens` that the provider had in its cache. */
  readonly cachedTokens: number
  readonly completionTokens: number
  /** The part of `completionTokens` that the model did not show. */
  readonly reasoningTokens: number
  readonly images: number
}

/** A line of a price file. */
export interface PriceLine {
  /** Models that it is for. */
  readonly glob: string
  readonly price: Price
}

const MILLION = 1_000_000n
/** Models whose price is remembered; a client can name any. */
const MAX_REMEMBERED = 1000

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
    if (this.#remembered.size === MAX_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(model, price)
    return price
  }
}

/** A book without prices. */
export const NO_PRICES = new PriceBook([], '')

/** The cost of a call, rounded to whole units of 10⁻⁹ USD, halves up; at most MAX_NANO_USD. */
export function costOf(price: Price, usage: PricedUsage): NanoUsd {
  const cached = Math.min(usage.cachedTokens, usage.promptTokens)
  const reasoning = Math.min(usage.reasoningTokens, usage.completionTokens)
  const ofTokens =
    times(usage.promptTokens - cached, price.input) +
    times(cached, price.cachedInput) +
    times(usage.completionTokens - reasoning, price.output) +
    times(reasoning, price.reasoning)
  const cost = divide(ofTokens, MILLION) + BigInt(price.request) + times(usage.images, price.image)
  return cost > BigInt(MAX_NANO_USD) ? MAX_NANO_USD : Number(cost)
}

const times = (count: number, price: NanoUsd): bigint => BigInt(count) * BigInt(price)
