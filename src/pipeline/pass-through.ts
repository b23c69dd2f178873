// Forwards a call without a scan, because the configuration lists its path. It is key-checked,
// bounded, sealed and counted as any other.

import type { Api } from '../chat/api-format.ts'
import { PASS_THROUGH_NAME } from '../chat/apis.ts'
import { MODERATIONS } from '../chat/embeddings-api.ts'
import { GatewayError } from '../core/errors.ts'
import type { NanoUsd } from '../core/money.ts'
import type { PassMethod, PassThroughRule } from '../core/unscanned-paths.ts'
import { kindInName } from '../detect/pii/clean-name.ts'
import { matchedKey } from '../policy/compile.ts'
import type { PermittedRequest } from '../policy/decide.ts'
import { compilePathGlob } from '../policy/glob.ts'
import { passedHeaders } from '../upstream/headers.ts'
import type { UpstreamResponse } from '../upstream/response.ts'
import { ReportedUse } from './answer/reported-use.ts'
import type { Call } from './call/call.ts'
import { callHeaders, hasLimits } from './call/call-headers.ts'
import { type CallRecord, isAnswered } from './call/call-record.ts'
import { assertWaiting, type RawClient } from './call/client.ts'
import { decideUnscanned } from './decide-unscanned.ts'
import { carryOutWith } from './handle.ts'
import { type Demand, expectedTokensOf } from './limits/quota.ts'
import type { Admitted, Permitted, Pipeline } from './pipeline.ts'
import type { Delivered } from './record/record.ts'

/** Only its name and its errors matter: nothing of it is read but what its answer says was used. */
const PASS_THROUGH: Api = { ...MODERATIONS, name: PASS_THROUGH_NAME, target: '', usesTokens: true }

/** Expected cost of a call until the first of a budget has ended: about that of an image. */
const EXPECTED_COST: NanoUsd = 50_000_000

/**
 * What a call may use is not known. It passes a limit that has anything left, and leaves less for
 * other calls.
 */
const UNKNOWN_DEMAND: Demand = {
  tokens: 1,
  unlimitedChoices: 1,
  money: { type: 'priced', most: 1, answer: EXPECTED_COST },
}

/** A call of a method whose answers repeat what an earlier call used. */
const READING_DEMAND: Demand = {
  tokens: 1,
  unlimitedChoices: 0,
  money: { type: 'priced', most: 1, answer: 0 },
}

const READING_METHODS: ReadonlySet<PassMethod> = new Set(['GET', 'DELETE'])

/** Longest path, UTF-16 units: it is sealed. */
const MAXIMUM_PATH_CHARACTERS = 1024

/** A request that a rule lets through. */
export interface PassedRequest {
  readonly method: PassMethod
  /** In its normal form, with its `/v1`, without its query. */
  readonly path: string
  /** Without `?`. */
  readonly search: string
  /** The rule that lets it pass. */
  readonly rule: PassThroughRule
}

/** Finds the rule for a request; null without one. */
export function passThroughFor(
  rules: readonly PassThroughRule[],
): (method: string, path: string, search: string) => PassedRequest | null {
  const tests = rules.map((rule) => ({ ...rule, matches: compilePathGlob(rule.path) }))
  return (method, path, search) => {
    const rule = tests.find((one) => one.methods.includes(method as PassMethod) && one.matches(path))
    return rule === undefined ? null : { method: method as PassMethod, path, search, rule }
  }
}

/** Forwards a request as it is and streams the answer back. Never rejects. */
export const passThrough = (pipeline: Pipeline, client: RawClient, request: PassedRequest): Promise<void> =>
  carryOutWith(
    pipeline,
    client,
    PASS_THROUGH,
    async (admitted) => readAndPermit(pipeline, client, admitted, request),
    (_, { call }, __, response) => deliver(call, client, response),
  )

/**
 * @throws GatewayError without room for the call, for a path that must not be sealed, and as
 *   `decideUnscanned`
 */
async function readAndPermit(
  pipeline: Pipeline,
  client: RawClient,
  admitted: Admitted,
  passed: PassedRequest,
): Promise<Pick<Permitted, 'permit'>> {
  const { call } = admitted
  const { method, path, rule } = passed
  // The glob stands for a path that must not be sealed.
  call.record.unscanned = { method, path: rule.path, requestBytes: 0 }
  checkPath(path)
  call.record.unscanned = { method, path, requestBytes: 0 }
  const request = await read(pipeline, client, admitted, passed)
  // One rule set for the whole call, for a model that is not known.
  const selection = pipeline.rules().select(null, matchedKey(call.key), call.api.name)
  const isUsing = !READING_METHODS.has(method)
  const demand = isUsing ? UNKNOWN_DEMAND : READING_DEMAND
  Object.assign(call.record, {
    policyRevision: selection.revision,
    prices: pipeline.prices(),
    isUseUnknown: isUsing,
    mostTokens: expectedTokensOf(demand),
    mostCost: isUsing && selection.limits.some(({ unit }) => unit === 'usd') ? EXPECTED_COST : 0,
  } satisfies Partial<CallRecord>)
  const permit = await decideUnscanned(pipeline, call, { selection, demand, models: null }, request)
  return { permit }
}

/** The path is sealed, so that it must hold nothing that an erasure would have to find. */
function checkPath(path: string): void {
  const kind = path.length > MAXIMUM_PATH_CHARACTERS ? 'length' : kindInName(path)
  if (kind === null) return
  throw new GatewayError(
    'invalid_parameter',
    kind === 'length'
      ? `The path is longer than ${MAXIMUM_PATH_CHARACTERS} characters.`
      : `The path holds a value of kind ${kind}; it must hold no personal data and no secret.`,
  )
}

async function read(
  pipeline: Pipeline,
  client: RawClient,
  { call, admission }: Admitted,
  { method, path, search, rule: { upstream } }: PassedRequest,
): Promise<PermittedRequest> {
  if (admission.refusal !== null) throw admission.refusal
  const keep = (bytes: number) => pipeline.admission.keep(admission, bytes)
  const bytes = await call.waitForClient(client.readBytes(pipeline.bodyBytes, keep))
  assertWaiting(client)
  call.record.unscanned = { method, path, requestBytes: bytes.length }
  const target = path.replace(/^\/v1(?=\/)/, '') + (search === '' ? '' : `?${search}`)
  const { 'content-type': type, 'content-encoding': coding } = client.headers
  const defaults = {
    ...(type !== undefined && { 'content-type': type }),
    ...(coding !== undefined && { 'content-encoding': coding }),
  }
  const body = bytes.length === 0 ? null : bytes
  return { upstream, model: '', method, target, body, defaults }
}

/**
 * Relays the answer piece by piece. Only its end waits for the entry, which has what the upstream
 * says that a successful call used.
 */
async function deliver(call: Call, client: RawClient, response: UpstreamResponse): Promise<Delivered> {
  const { record: noted } = call
  const { status } = response
  noted.isUseUnknown &&= isAnswered(noted)
  const use = noted.isUseUnknown ? new ReportedUse(response.headers['content-type']) : null
  noted.isUseUnknown = use?.isReadable ?? false
  client.startBytes(status, { ...passedHeaders(response, hasLimits(call)), ...callHeaders(call) })
  for (;;) {
    const piece = await call.waitForUpstream(response.read())
    if (piece !== null) noteUse(noted, use, piece)
    assertWaiting(client)
    if (piece === null) break
    call.markFirstToken()
    const room = client.writeBytes(piece)
    if (room !== undefined) await call.waitForClient(room)
  }
  return {
    ending: { outcome: status >= 500 ? 'upstream_error' : 'ok', status, errorCode: null },
    finish: () => client.endBytes(),
  }
}

/** Notes at once what an answer says, because the client may leave before its end. */
function noteUse(noted: CallRecord, use: ReportedUse | null, piece: Buffer): void {
  noted.responseBytes += piece.length
  if (use === null) return
  use.add(piece)
  noted.usage = use.usage
  noted.servedModel = use.model
  if (use.usage !== null || !use.isReadable) noted.isUseUnknown = false
}
