// Refuses names of models that the log must not keep. A name is sealed in its entry, which an
// erasure leaves as it is, and it becomes a label of metrics.

import type { Api } from '../../chat/api-format.ts'
import type { ModelRequest } from '../../chat/model-request.ts'
import type { NamedModel } from '../../chat/named-models.ts'
import { GatewayError } from '../../core/errors.ts'
import type { JsonValue } from '../../core/json.ts'
import { kindInName } from '../../detect/pii/clean-name.ts'

const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u

/**
 * Reads a request whose names of models may be sealed.
 * @throws GatewayError as `api.readRequest` and checkModels
 */
export function readCleanRequest(api: Api, body: JsonValue): ModelRequest {
  const request = api.readRequest(body)
  checkModels(request.named)
  return request
}

/**
 * Checks the models of a call. Messages never repeat a name.
 * @throws GatewayError `invalid_body`; `param` is the member that names the model
 */
export function checkModels(models: readonly NamedModel[]): void {
  for (const { name, param } of models) {
    const reason = whyNotModel(name)
    if (reason === null) continue
    throw new GatewayError('invalid_body', `${param}: ${reason}`, { param })
  }
}

function whyNotModel(name: string): string | null {
  if (UNPRINTABLE.test(name)) return 'must have printable characters only.'
  const kind = kindInName(name)
  return kind === null
    ? null
    : `must hold no personal data and no secret, and holds a value of kind ${kind}; send the name of a model.`
}
