// Forwards a call without a scan, because the configuration lists its path. It is key-checked,
// bounded, sealed and counted as any other.

import type { Api } from '../chat/api-format.ts'
import { MODERATIONS } from '../chat/embeddings-api.ts'
import { GatewayError } from '../core/errors.ts'
import type { PassMethod, PassThroughRule } from '../core/unscanned-paths.ts'
import { kindInName } from '../detect/pii/clean-name.ts'
import { matchedKey, type Selection } from '../policy/compile.ts'
import { type PermittedRequest, permitWithoutPrompt } from '../policy/decide.ts'
import { compileGlob } from '../policy/glob.ts'
import { passedHeaders } from '../upstream/headers.ts'
import type { UpstreamResponse } from '../upstream/response.ts'
import type { Call } from './call.ts'
import { callHeaders } from './call-headers.ts'
import { assertWaiting, type RawClient } from './client.ts'
import { conduct } from './conduct.ts'
import { limited } from './failure.ts'
import type { Admitted, Pipeline } from './pipeline.ts'
import { NO_DEMAND } from './prompt/quota.ts'
import { reserveLimits } from './prompt/reserve-limits.ts'
import { type Delivered, recordIntent } from './record.ts'

/** Only its name, its errors and that it uses no tokens matter: nothing of it is read. */
const PASS_THROUGH: Api = { ...MODERATIONS, name: 'pass_through', target: '' }

/** Longest path, UTF-16 units: it is sealed. */
const MAX_PATH_CHARACTERS = 1024

/** A request that a rule lets through. */
export interface PassedRequest {
  readonly method: PassMethod
  /** With its `/v1`, without its query. */
  readonly path: string
  /** Without `?`. */
  readonly search: string
  readonly upstream: string
}

/** Finds the rule for a request; null without one. */
export function passThroughFor(
  rules: readonly PassThroughRule[],
): (method: string, path: string, search: string) => PassedRequest | null {
  const tests = rules.map((rule) => ({ ...rule, matches: compileGlob(rule.path) }))
  return (method, path, search) => {
    const rule = tests.find((one) => one.methods.includes(method as PassMethod) && one.matches(path))
    return rule === undefined ? null : { method: method as PassMethod, path, search, upstream: rule.upstream }
  }
}

/** Forwards a request as it is and streams the answer back. Never rejects. */
export const passThrough = (pipeline: Pipeline, client: RawClient, request: PassedRequest): Promise<void> =>
  conduct(pipeline, client, PASS_THROUGH, async (admitted) => {
    const { call } = admitted
    checkPath(request.path)
    // One rule set for the whole call, for a model that is not known.
    const selection = pipeline.rules().select([''], matchedKey(call.key))
    checkAccess(call, selection)
    const permit = permitWithoutPrompt(await read(pipeline, client, admitted, request))
    reserve(pipeline, call, selection)
    await recordIntent(pipeline, call)
    const { upstreams } = pipeline
    const response = await call.waitForUpstream(
      upstreams.forward(permit, client.headers, client, call.record),
    )
    call.record.addUpstream(response, pipeline.kinds)
    return deliver(call, client, response)
  })

/** The path is sealed, so that it must hold nothing that an erasure would have to find. */
function checkPath(path: string): void {
  const kind = path.length > MAX_PATH_CHARACTERS ? 'length' : kindInName(path)
  if (kind === null) return
  throw new GatewayError(
    'invalid_parameter',
    kind === 'length'
      ? `The path is longer than ${MAX_PATH_CHARACTERS} characters.`
      : `The path holds a value of kind ${kind}; it must hold no personal data and no secret.`,
  )
}

/** A key or a rule that names models lets nothing through whose model is not known. */
function checkAccess(call: Call, { access }: Selection): void {
  if (call.key.terms.models === null && access.every(({ rule }) => rule.action !== 'block')) return
  throw new GatewayError(
    'model_not_allowed',
    'Only some models are allowed for this API key, and a call that is not scanned may be for any.',
    { headers: { 'x-should-retry': 'false' } },
  )
}

/** @throws GatewayError `rate_limit_exceeded` */
function reserve(pipeline: Pipeline, call: Call, selection: Selection): void {
  const quota = reserveLimits(pipeline, call, selection, NO_DEMAND)
  const exceeded = quota.evidence.flatMap((one) => (one.exceeded && one.rule !== null ? [one.rule] : []))
  call.record.hits.push(...exceeded.map((rule) => ({ rule, direction: 'request' as const })))
  if (quota.refusal !== null) throw limited(quota.refusal)
}

async function read(
  pipeline: Pipeline,
  client: RawClient,
  { call, admission }: Admitted,
  { method, path, search, upstream }: PassedRequest,
): Promise<PermittedRequest> {
  if (admission.refusal !== null) throw admission.refusal
  const keep = (bytes: number) => pipeline.admission.keep(admission, bytes)
  const bytes = await call.waitForClient(client.readBytes(pipeline.bodyBytes, keep))
  assertWaiting(client)
  call.record.unscanned = { method, path, requestBytes: bytes.length }
  const target = path.replace(/^\/v1(?=\/)/, '') + (search === '' ? '' : `?${search}`)
  const type = client.headers['content-type']
  const defaults: Record<string, string> = type === undefined ? {} : { 'content-type': type }
  const body = bytes.length === 0 ? null : bytes
  return { upstream, model: '', method, target, body, defaults }
}

/** Relays the answer piece by piece. Only its end waits for the entry. */
async function deliver(call: Call, client: RawClient, response: UpstreamResponse): Promise<Delivered> {
  const { status } = response
  client.startBytes(status, { ...passedHeaders(response.headers), ...callHeaders(call) })
  for (;;) {
    const piece = await call.waitForUpstream(response.read())
    assertWaiting(client)
    if (piece === null) break
    call.markFirstToken()
    call.record.responseBytes += piece.length
    const room = client.writeBytes(piece)
    if (room !== undefined) await call.waitForClient(room)
  }
  return {
    ending: { outcome: status >= 500 ? 'upstream_error' : 'ok', status, errorCode: null },
    finish: () => client.endBytes(),
  }
}
