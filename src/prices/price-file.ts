// Reads a price file into a price book, with every error of the file. Knows neither who watches the
// file nor what is in force.

import { hash } from 'node:crypto'
import { statSync } from 'node:fs'
import { type DocumentReading, formatPath, type Path, readDocument } from '../core/document.ts'
import { isObject, type JsonValue } from '../core/json.ts'
import { type NanoUsd, toUsd, usdOf } from '../core/money.ts'
import { firstOf, type Problem } from '../core/problem.ts'
import { fileLabel, readTextFile, reasonOf } from '../core/text-file.ts'
import { controlCharacterIn } from '../policy/control-character.ts'
import {
  NO_PRICES,
  type Price,
  PriceBook,
  type PriceLine,
  type TierPrices,
  type TokenPrices,
} from './price-book.ts'
import { lintPrices } from './price-lint.ts'
import { PRICES_SCHEMA } from './price-schema.ts'

/** Calls wait while a file is parsed: a quarter of a second for one of this size. */
const MAXIMUM_FILE_BYTES = 128 * 1024

/** A price file at one moment. */
export interface PriceSnapshot {
  /** NO_PRICES when there are problems. */
  readonly book: PriceBook
  /** Empty for a file that cannot be read. */
  readonly text: string
  readonly problems: readonly Problem[]
  /** Equal hashes mean an equal snapshot. */
  readonly contentHash: string
}

/** A price file as it was read, not yet parsed. */
export interface PriceSource {
  /** Names the file in problems. */
  readonly file: string
  /** The content hash of the snapshot. */
  readonly contentHash: string
  read(): Promise<PriceSnapshot>
  /** Returns the warnings on the file, as `lintPrices`. */
  lint(): Promise<readonly Problem[]>
}

/** Reads a price file. Never rejects: a file that cannot be read is a problem. */
export async function openPrices(path: string): Promise<PriceSource> {
  const file = fileLabel(path)
  const read = await readTextFile(path, MAXIMUM_FILE_BYTES, 'join models with globs')
  if ('problem' in read) {
    const { problem: message, ...how } = read
    const problems = [{ file, line: 0, column: 0, path: '', message, ...how }]
    const contentHash = hashOf(JSON.stringify(problems))
    return {
      file,
      contentHash,
      read: async () => ({ book: NO_PRICES, text: '', problems, contentHash }),
      lint: async () => [],
    }
  }
  return {
    file,
    contentHash: hashOf(read.text),
    read: async () => parsePrices(read.text, file),
    lint: async () => lintPrices(read.text, file),
  }
}

/** Says why there is no file at a path; null when there is one. The message names the path. */
export function whyNoPrices(path: string): string | null {
  try {
    return statSync(path).isFile() ? null : `${path} is not a file; name the price file in it`
  } catch (error) {
    return `${path} cannot be read (${reasonOf(error)}); name a price file`
  }
}

/** Prices that the schema accepts, USD. */
interface WrittenTokenPrices extends Partial<Record<keyof TokenPrices, number>> {
  readonly input: number
  readonly output: number
}

interface WrittenTier extends WrittenTokenPrices {
  readonly above?: WrittenTokenPrices & { readonly tokens: number }
}

/** A line of the file. */
interface WrittenPrice extends WrittenTier {
  readonly tiers?: Readonly<Record<string, WrittenTier>>
  readonly request?: number
  readonly image?: number
}

interface WrittenPrices {
  readonly prices: Readonly<Record<string, WrittenPrice>>
}

/**
 * Parses the text of a price file.
 * @param file names it in problems
 */
export function parsePrices(text: string, file: string): PriceSnapshot {
  const contentHash = hashOf(text)
  const reading = readDocument<WrittenPrices>(text, file, PRICES_SCHEMA)
  const found = [...reading.problems, ...lineProblems(reading, file)]
  if (reading.value === null || found.length > 0) {
    const problems = found.sort((a, b) => a.line - b.line || a.column - b.column)
    return { book: NO_PRICES, text, problems: firstOf(problems), contentHash }
  }
  const book = new PriceBook(linesOf(reading, reading.value), contentHash)
  return { book, text, problems: [], contentHash }
}

const hashOf = (text: string): string => hash('sha256', text)

/** What the schema does not say of globs and prices. */
function lineProblems({ unchecked, locate }: DocumentReading<WrittenPrices>, file: string): Problem[] {
  const written = isObject(unchecked) ? unchecked['prices'] : null
  const problems: Problem[] = []
  const add = (path: Path, message: string) =>
    problems.push({ file, ...locate(path), path: formatPath(path), message })
  for (const [glob, line] of Object.entries(isObject(written) ? written : {})) {
    const control = controlCharacterIn(glob)
    if (control !== null) add(['prices', glob], control)
    for (const { path, usd } of amountsIn(line, ['prices', glob]))
      if (isTooFine(usd)) add(path, 'has more than nine decimals; round it to 10⁻⁹ USD')
  }
  return problems
}

/** The numbers in a line, with their places. The parser bounds the depth. */
function amountsIn(value: JsonValue, path: Path): { readonly path: Path; readonly usd: number }[] {
  if (typeof value === 'number') return [{ path, usd: value }]
  const members = isObject(value) ? Object.entries(value) : []
  return members.flatMap(([name, child]) => amountsIn(child, [...path, name]))
}

/** Whether an amount has a part below 10⁻⁹ USD. */
function isTooFine(usd: number): boolean {
  const amount = usdOf(usd)
  return amount !== null && toUsd(amount) !== usd
}

/** In the order of the file: JavaScript puts keys that are whole numbers first. */
function linesOf({ locate }: DocumentReading<WrittenPrices>, { prices }: WrittenPrices): PriceLine[] {
  return Object.entries(prices)
    .map(([glob, price]) => ({ at: locate(['prices', glob]), line: { glob, price: completePrice(price) } }))
    .sort((a, b) => a.at.line - b.at.line || a.at.column - b.at.column)
    .map(({ line }) => line)
}

function completePrice(written: WrittenPrice): Price {
  const { tiers = {}, request = 0, image = 0 } = written
  return {
    ...completeTier(written),
    tiers: new Map(Object.entries(tiers).map(([name, tier]) => [name, completeTier(tier)])),
    request: amountOf(request),
    image: amountOf(image),
  }
}

const completeTier = (written: WrittenTier): TierPrices => ({
  ...completeTokens(written),
  above:
    written.above === undefined
      ? null
      : { tokens: written.above.tokens, prices: completeTokens(written.above) },
})

function completeTokens({ input, output, ...others }: WrittenTokenPrices): TokenPrices {
  const { cacheWrite = input } = others
  return {
    input: amountOf(input),
    cachedInput: amountOf(others.cachedInput ?? input),
    cacheWrite: amountOf(cacheWrite),
    cacheWrite1h: amountOf(others.cacheWrite1h ?? cacheWrite),
    audioInput: amountOf(others.audioInput ?? input),
    output: amountOf(output),
    reasoning: amountOf(others.reasoning ?? output),
    audioOutput: amountOf(others.audioOutput ?? output),
  }
}

function amountOf(usd: number): NanoUsd {
  const amount = usdOf(usd)
  if (amount === null) throw new Error(`${usd} is no amount; the schema of price files must refuse it`)
  return amount
}
