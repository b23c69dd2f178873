// The part of an API about answers that the provider keeps after the call, and later calls name.

import type { GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { Steps } from '../core/steps.ts'

/** What a request says of answers that the provider keeps. */
export interface StoredUse {
  /** Whether the provider keeps the answer to it. */
  readonly isKept: boolean
  /** Whether the answer is made after the call, so that it has no tokens yet. */
  readonly isBackground: boolean
  /** The answer that it continues; null for a new conversation. */
  readonly continued: StoredReference | null
  /** Parts of answers in its prompt, by their ids alone, and containers of its tools. */
  readonly items: readonly StoredReference[]
  /** Parts that its prompt repeats and that have ids; the provider may read the one it keeps. */
  readonly repeated: readonly StoredReference[]
}

export interface StoredReference {
  readonly id: string
  /** The error when the id is not one of the key's. @param shown the id; null to leave it out */
  notFound(shown: string | null): GatewayError
}

/** A request about one answer: `{method} {target of the API}/{id}{path}`. */
export interface StoredOperation {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** `reads`: its answer is the stored one. `lists`: it is another part of the exchange. */
  readonly effect: 'reads' | 'lists' | 'removes'
  /**
   * Checks the query, which is forwarded without a scan.
   * @throws GatewayError `invalid_parameter`
   */
  readQuery(search: string): StoredQuery
}

export interface StoredQuery {
  /** To forward, without `?`. */
  readonly query: string
  /** Whether the client asked for a stream. */
  readonly stream: boolean
  /** Number of the last event of the stream that the client has; null for the whole stream. */
  readonly after: number | null
}

export interface StoredFormat {
  readonly operations: readonly StoredOperation[]
  /**
   * Reads, in steps, what a request says.
   * @throws GatewayError `invalid_body`, or for what no key can own
   */
  readRequest(body: JsonObject): Steps<StoredUse>
  /** The id of an answer, and those of its parts; null when the provider does not keep it. */
  idsOf(answer: JsonObject): { readonly id: string; readonly items: readonly string[] } | null
  /** The ids of containers in which tools ran for an answer, also for one that is not kept. */
  containersOf(answer: JsonObject): readonly string[]
  /** Reports whether an answer is still being made. */
  isPending(answer: JsonObject): boolean
  /** @param shown as in StoredReference */
  notFound(shown: string | null): GatewayError
}

/** Longest id; some proxies encode the model in it. */
const MAXIMUM_ID_CHARACTERS = 512
const ID = /^[A-Za-z0-9][\w.:=+~-]*$/

/** Reports whether a text can be an id of a provider. */
export const isStoredId = (text: string): boolean => text.length <= MAXIMUM_ID_CHARACTERS && ID.test(text)
