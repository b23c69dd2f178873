// Builds the address of a request to an upstream.

import type { UpstreamConfig } from '../core/upstream-config.ts'

/** Stands for the model in a base URL. */
const MODEL = '{model}'

export class UpstreamAddress {
  readonly origin: string
  /** Path of the base URL without a trailing slash; the model is between the parts. */
  readonly #parts: readonly string[]
  /** Without its `?`; empty without parameters. */
  readonly #query: string
  /** Names of its parameters, in small letters. */
  readonly #names: ReadonlySet<string>

  constructor({ baseUrl, query }: Pick<UpstreamConfig, 'baseUrl' | 'query'>) {
    // The URL parser would encode the braces.
    const { origin } = new URL(baseUrl.replaceAll(MODEL, 'model'))
    this.origin = origin
    const path = baseUrl.slice(baseUrl.indexOf('/', baseUrl.indexOf('://') + 3)).replace(/\/+$/, '')
    this.#parts = (baseUrl.split('/').length > 3 ? path : '').split(MODEL)
    this.#query = new URLSearchParams(query).toString()
    this.#names = new Set(Object.keys(query).map((name) => name.toLowerCase()))
  }

  /**
   * The path of a request, with its query. Configured parameters replace those of the target.
   * @param target path below the base URL, with its own query
   * @param model by the name that the upstream knows
   */
  path(target: string, model: string): string {
    const base = this.#parts.join(encodeURIComponent(model))
    if (this.#query === '') return base + target
    const mark = target.indexOf('?')
    if (mark < 0) return `${base}${target}?${this.#query}`
    const isOther = (pair: string) => pair !== '' && !this.#names.has(nameIn(pair))
    const others = target
      .slice(mark + 1)
      .split('&')
      .filter(isOther)
    return `${base}${target.slice(0, mark)}?${[...others, this.#query].join('&')}`
  }
}

/** The name in a pair of a query, decoded, in small letters. */
const nameIn = (pair: string): string => [...new URLSearchParams(pair).keys()][0]?.toLowerCase() ?? ''
