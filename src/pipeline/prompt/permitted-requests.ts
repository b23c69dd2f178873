// Makes the requests that a permit lets through: for each upstream that may be asked, its bodies.

import type { Api } from '../../chat/api-format.ts'
import { rewrite } from '../../chat/json-rewrite.ts'
import type { ModelRequest } from '../../chat/model-request.ts'
import { portableBody } from '../../chat/portable-body.ts'
import type { PermittedRequest, PermittedRequests } from '../../policy/decide.ts'
import type { Route } from '../../upstream/upstreams.ts'

/** @param json the redacted body, serialised */
export function permittedRequests(
  api: Api,
  request: ModelRequest,
  routes: readonly [Route, ...Route[]],
  json: Buffer,
): PermittedRequests {
  const [own, ...others] = routes
  const [first, ...rest] = requestsTo(api, request, own, json)
  return [first!, ...rest, ...requestsToOthers(api, request, others, json)]
}

/** Other upstreams may be of another provider; none is asked for what only the first can read. */
function requestsToOthers(
  api: Api,
  request: ModelRequest,
  routes: readonly Route[],
  json: Buffer,
): PermittedRequest[] {
  if (routes.length === 0) return []
  const portable = portableBody(request.body)
  if (portable === null) return []
  const { body, removed } = portable
  const written = body === request.body ? json : rewrite(json, body, removed)
  return routes.flatMap((route) => requestsTo(api, { ...request, body }, route, written))
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
