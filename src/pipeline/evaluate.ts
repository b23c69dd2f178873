// A dry run of steps 2 and 3: what would happen to a request, without forwarding, counting or sealing anything.

import { readChatRequest } from '../chat/request.ts'
import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { decide } from '../policy/decide.ts'
import type { Pipeline } from './handle.ts'
import { countKinds, inspect } from './inspect.ts'

/** Key name assumed when the request names none. */
const DEFAULT_KEY_NAME = 'evaluate'

/**
 * Judges a chat request body, optionally with `key_name` beside its fields.
 * Token limits are not asked: they depend on traffic, not on the request.
 * @throws GatewayError as the chat endpoint would
 */
export function evaluate(pipeline: Pipeline, input: JsonValue): JsonObject {
  if (!isObject(input)) throw new GatewayError('invalid_body', 'The body must be a JSON object.')
  const { key_name: keyName = DEFAULT_KEY_NAME, ...body } = input
  if (typeof keyName !== 'string') {
    throw new GatewayError('invalid_body', 'key_name must be a string.', { param: 'key_name' })
  }
  const request = readChatRequest(body)
  const selection = pipeline.rules().select(request.models, keyName)
  const inspection = inspect(request.body, selection, pipeline.kinds, pipeline.injection)
  const decision = decide({
    selection,
    findings: countKinds(inspection.findings),
    keywordHits: inspection.keywordHits,
    injectionScore: inspection.injection?.score ?? null,
    modelThreshold: pipeline.injection.threshold,
    limits: [],
  })
  const payloadBlocked = inspection.binaryParts > 0 && pipeline.binaryParts === 'block'
  const { injection } = inspection
  return {
    decision: decision.outcome === 'denial' || payloadBlocked ? 'block' : 'allow',
    rules: decision.hits.map(({ rule, direction }) => ({ ...rule, direction })),
    findings: inspection.findings.map((finding) => ({ ...finding, direction: 'request' })),
    injection:
      injection === null
        ? null
        : {
            score: injection.score,
            threshold: pipeline.injection.threshold,
            path: injection.path,
            span: injection.span === null ? null : { ...injection.span },
            reasons: [...injection.reasons],
            model: pipeline.injection.version,
          },
    redacted: request.body,
  }
}
