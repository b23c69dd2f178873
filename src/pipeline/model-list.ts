// Merges the lists of models of several upstreams. Knows neither sockets nor keys.

import { isTooDeep, parseReceived } from '../chat/strict-json.ts'
import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject } from '../core/json.ts'

/** The models of one upstream. */
export interface ModelSource {
  readonly models: readonly JsonObject[]
  /** Names under which clients call a model; none for one that is not served. */
  readonly clientNames: (model: string) => readonly string[]
}

/**
 * Reads the models of a list, as OpenAI and Anthropic write one.
 * @throws GatewayError `upstream_unavailable` for anything else
 */
export function modelsIn(list: Buffer): readonly JsonObject[] {
  try {
    const text = String(list)
    const { data } = parseReceived(text) as JsonObject
    if (Array.isArray(data) && !isTooDeep(text)) return data.filter(isObject)
  } catch {
    // Not a list; the error below says so.
  }
  throw new GatewayError('upstream_unavailable', "The upstream's list of models could not be read.")
}

/**
 * Merges lists in order, and returns the body of an answer: the whole, or one model. A name that
 * several upstreams list goes to the first one, as its calls do.
 * @param model null for the whole
 * @throws GatewayError `model_not_found` (404)
 */
export function mergedBody(sources: readonly ModelSource[], model: string | null): string {
  const models = mergeModels(sources)
  return JSON.stringify(model === null ? listOf(models) : findModel(models, model))
}

function mergeModels(sources: readonly ModelSource[]): readonly JsonObject[] {
  const byName = new Map<string, JsonObject>()
  for (const { models, clientNames } of sources) {
    for (const model of models) {
      const { id } = model
      if (typeof id !== 'string') continue
      for (const name of clientNames(id)) if (!byName.has(name)) byName.set(name, { ...model, id: name })
    }
  }
  return [...byName.values()]
}

/** `has_more`, `first_id` and `last_id` are for Anthropic's clients. */
const listOf = (models: readonly JsonObject[]): JsonObject => ({
  object: 'list',
  data: [...models],
  has_more: false,
  first_id: models[0]?.['id'] ?? null,
  last_id: models.at(-1)?.['id'] ?? null,
})

/** @throws GatewayError `model_not_found` (404) */
export function findModel(models: readonly JsonObject[], inPath: string): JsonObject {
  const names = new Set([inPath, decoded(inPath)])
  const found = models.find(({ id }) => names.has(String(id)))
  if (found !== undefined) return found
  throw new GatewayError(
    'model_not_found',
    'The upstream has no model of this name; GET /v1/models lists all.',
    { param: 'model' },
  )
}

function decoded(inPath: string): string {
  try {
    return decodeURIComponent(inPath)
  } catch {
    return inPath
  }
}
