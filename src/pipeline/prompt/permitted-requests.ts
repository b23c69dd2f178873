// Makes the requests that a permit lets through: for each upstream that may be asked, its bodies.

import type { Api } from '../../chat/api-format.ts'
import { rewrite } from '../../chat/json-rewrite.ts'
import type { ModelRequest } from '../../chat/model-request.ts'
import type { PermittedRequest, PermittedRequests } from '../../policy/decide.ts'
import type { Route } from '../../upstream/upstreams.ts'

/** @param json the redacted body, serialised */
export function permittedRequests(
  api: Api,
  request: ModelRequest,
  routes: readonly [Route, ...Route[]],
  json: Buffer,
): PermittedRequests {
  const [first, ...rest] = routes.flatMap((route) => requestsTo(api, request, route, json))
  return [first!, ...rest]
}

function requestsTo(
  api: Api,
  request: ModelRequest,
  { upstream, model, streamUsage }: Route,
  json: Buffer,
): PermittedRequest[] {
  const { target, headers: defaults } = api
  const isRenamed = model !== request.model
  const body = isRenamed ? { ...request.body, model } : request.body
  const written = isRenamed ? rewrite(json, body) : json
  const bodies = api.upstreamBodies({ ...request, body }, written, streamUsage)
  return bodies.map((bytes) => ({
    upstream,
    model,
    method: 'POST',
    target,
    body: bytes,
    defaults,
  }))
}
