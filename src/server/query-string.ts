// Reads query strings of the management API. A value out of bounds is an error; it is never
// clamped.

import { GatewayError } from '../core/errors.ts'
import { parseEndTime, parseTime } from '../core/time.ts'

const invalid = (name: string, message: string): GatewayError =>
  new GatewayError('invalid_parameter', `${name} ${message}`, { param: name })

/** A plus that was not escaped arrives as a space (form encoding): `12:00:00 02:00`. */
const SPACE_OF_ZONE = /(?<=[0-9]) (?=[0-9]{2}:[0-9]{2}$)/

export class QueryString {
  readonly #values: URLSearchParams

  /** @throws GatewayError for a parameter that is not in `known` or is repeated */
  constructor(search: string, known: readonly string[]) {
    this.#values = new URLSearchParams(search)
    for (const name of this.#values.keys()) {
      if (!known.includes(name))
        throw invalid(name, `is not a parameter here; known parameters: ${known.join(', ') || 'none'}.`)
      if (this.#values.getAll(name).length > 1) throw invalid(name, 'is given more than once; give it once.')
    }
  }

  text(name: string): string | null {
    return this.#values.get(name)
  }

  integer(name: string, fallback: number, minimum: number, maximum: number): number {
    const text = this.#values.get(name)
    if (text === null) return fallback
    const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (value >= minimum && value <= maximum) return value
    throw invalid(name, `must be a whole number from ${minimum} to ${maximum}.`)
  }

  /** One of the values; null when missing. */
  choice<Value extends string>(name: string, allowed: readonly Value[]): Value | null {
    const text = this.#values.get(name)
    if (text === null) return null
    const value = allowed.find((one) => one === text)
    if (value !== undefined) return value
    throw invalid(name, `must be one of ${allowed.join(', ')}.`)
  }

  /** Some of the values, separated by commas; null when missing. */
  choices<Value extends string>(name: string, allowed: readonly Value[]): Value[] | null {
    const texts = this.#values.get(name)?.split(',')
    if (texts === undefined) return null
    const values = allowed.filter((one) => texts.includes(one))
    if (texts.every((one) => allowed.includes(one as Value))) return values
    throw invalid(name, `must be one of ${allowed.join(', ')}, or several with commas between them.`)
  }

  boolean(name: string): boolean | null {
    const text = this.#values.get(name)
    if (text === null) return null
    if (text === 'true' || text === 'false') return text === 'true'
    throw invalid(name, 'must be true or false.')
  }

  /** Milliseconds since the epoch, from an RFC 3339 date or date-time; null when missing. */
  time(name: string): number | null {
    return this.#parsed(name, parseTime)
  }

  /** The end of a period, as `time` reads it; a date includes its whole day. */
  endTime(name: string): number | null {
    return this.#parsed(name, parseEndTime)
  }

  #parsed(name: string, parse: typeof parseTime): number | null {
    const text = this.#values.get(name)
    if (text === null) return null
    const value = parse(text.replace(SPACE_OF_ZONE, '+'))
    if (value !== null) return value
    throw invalid(name, 'must be a date or a time with its zone, like 2026-01-31T12:00:00Z.')
  }
}
