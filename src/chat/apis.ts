// Lists the APIs that the gateway serves.

import type { Api } from './api-format.ts'
import { CHAT } from './chat-api.ts'
import { COMPLETIONS } from './completions-api.ts'
import { EMBEDDINGS, MODERATIONS } from './embeddings-api.ts'
import { COUNT_TOKENS, MESSAGES } from './messages/messages-api.ts'
import { COMPACT, INPUT_TOKENS, RESPONSES } from './responses/responses-api.ts'

/** Each is served at `/v1` and its target. */
export const APIS: readonly Api[] = [
  CHAT,
  RESPONSES,
  COMPACT,
  INPUT_TOKENS,
  COMPLETIONS,
  EMBEDDINGS,
  MODERATIONS,
  MESSAGES,
  COUNT_TOKENS,
]

/** The paths of the APIs. */
export const API_PATHS: readonly string[] = APIS.map(({ target }) => `/v1${target}`)

/** Paths below which the provider serves kept answers of every key. */
export const KEPT_PATHS: readonly string[] = APIS.filter(({ keepsAnswers }) => keepsAnswers).map(
  ({ target }) => `/v1${target}`,
)

const ENDPOINTS: ReadonlySet<string> = new Set(API_PATHS)

/**
 * Reports whether a path is never forwarded without a scan: that of an API, and any below one whose
 * answers are kept.
 */
export const isGoverned = (path: string): boolean =>
  ENDPOINTS.has(path) || KEPT_PATHS.some((kept) => path.startsWith(`${kept}/`))

/** The name of a call that passes through without a scan; it has no endpoint of its own. */
export const PASS_THROUGH_NAME = 'pass_through'

/** Names of the APIs, as entries and metrics have them. */
export const API_NAMES: readonly string[] = [...APIS.map(({ name }) => name), PASS_THROUGH_NAME]

/** Finds the API of a name; null without one. */
export const apiNamed = (name: unknown): Api | null => APIS.find((api) => api.name === name) ?? null
