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

  constructor({ baseUrl, query }: Pick<UpstreamConfig, 'baseUrl' | 'query'>) {
    // The URL parser would encode the braces.
    const { origin } = new URL(baseUrl.replaceAll(MODEL, 'model'))
    this.origin = origin
    const path = baseUrl.slice(baseUrl.indexOf('/', baseUrl.indexOf('://') + 3)).replace(/\/+$/, '')
    this.#parts = (baseUrl.split('/').length > 3 ? path : '').split(MODEL)
    this.#query = new URLSearchParams(query).toString()
  }

  /**
   * The path of a request, with its query.
   * @param target path below the base URL, with its own query
   * @param model by the name that the upstream knows
   */
  path(target: string, model: string): string {
    const path = this.#parts.join(encodeURIComponent(model)) + target
    return this.#query === '' ? path : `${path}${target.includes('?') ? '&' : '?'}${this.#query}`
  }
}
