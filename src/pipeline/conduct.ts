// Conducts a call: gives it a key and a place, runs its steps, and seals it before its answer ends.

import type { Api } from '../chat/api-format.ts'
import { toGatewayError, withRefusalStatus } from '../core/errors.ts'
import { unusableAnswer, wasSent } from '../upstream/response.ts'
import { type AdmissionControl, drainingError } from './call/admission.ts'
import { authenticate } from './call/authenticate.ts'
import { Call } from './call/call.ts'
import { callHeaders } from './call/call-headers.ts'
import type { Client } from './call/client.ts'
import type { Admitted, Pipeline } from './pipeline.ts'
import { endingOf, refuse, reportUnexpected } from './record/failure.ts'
import { type Delivered, formatReceipt, record } from './record/record.ts'

/**
 * Runs the steps of a call and seals it. Never rejects.
 * @param steps deliver everything but the end of the answer
 */
export async function conduct(
  pipeline: Pipeline,
  client: Client,
  api: Api,
  steps: (admitted: Admitted) => Promise<Delivered>,
): Promise<void> {
  // Admit and authenticate: without a log, a key and a place nothing is read and no entry is made.
  const admitted = await admit(pipeline, client, api)
  if (admitted === null) return
  const { call } = admitted
  let delivered: Delivered
  try {
    delivered = await steps(admitted)
  } catch (error) {
    // A failure is delivered as an answer is: once its entry is sealed.
    delivered = await deliverFailure(pipeline, admitted, error)
  }
  try {
    // Seal: the entry is durable before the last byte leaves, so a client can rely on it.
    const receipt = await record(pipeline, call, delivered.ending)
    // Finish: the end of the answer leaves, with the receipt.
    delivered.finish(receipt)
  } catch (error) {
    // A call without an entry is never answered as a success.
    refuse(pipeline, client, error, callHeaders(call), call.record.nextEvent)
  } finally {
    call.releaseAll()
  }
}

/** Gives the call its key and its place, or answers why not; null then. Never rejects. */
async function admit(pipeline: Pipeline, client: Client, api: Api): Promise<Admitted | null> {
  const { admission: control, clock } = pipeline
  try {
    control.assertAuditable()
    const startMs = clock.monotonic()
    const found = authenticate(pipeline, client)
    // Only a token that has to be verified lets other calls run meanwhile.
    const key = found instanceof Promise ? await found.catch(unlessDraining(control)) : found
    const { arrivedMs } = client
    const { revision: policyRevision } = pipeline.rules()
    const call = new Call(clock, { id: pipeline.newId(), api, key, arrivedMs, policyRevision })
    call.addPhase('key', clock.monotonic() - startMs)
    const admission = control.enter(client)
    call.hold(() => control.leave(admission))
    return { call, client, admission }
  } catch (error) {
    refuse(pipeline, client, error, { 'x-request-id': pipeline.newId() })
    return null
  }
}

/** A token whose verification a shutdown ended may be a good one. */
const unlessDraining = (control: Pick<AdmissionControl, 'draining'>) => (error: unknown) => {
  throw control.draining ? drainingError() : error
}

/** Prepares the error of a call that was denied, failed, or lost its client. Never rejects. */
async function deliverFailure(
  pipeline: Pipeline,
  { call, client }: Admitted,
  error: unknown,
): Promise<Delivered> {
  const cause = toGatewayError(error)
  const refusalStatus = pipeline.refusalStatus ?? call.api.errors.refusalStatus
  const failure = client.interrupted ? drainingError() : withRefusalStatus(cause, refusalStatus)
  const noted = call.record
  if (!wasSent(cause)) noted.forwarded = false
  const unusable = unusableAnswer(cause)
  if (unusable !== null) noted.addUpstream(unusable, pipeline.kinds)
  // The log has no room for the exchange; the entry alone still fits.
  if (failure.code === 'audit_unavailable') noted.request = null
  const ending = endingOf(failure, client)
  // The call is sealed even when its score cannot be made.
  await call.deferredScore?.finish().catch((scoring) => reportUnexpected(pipeline.logger, call.id, scoring))
  return {
    ending,
    finish(receipt) {
      const headers = { ...callHeaders(call), 'x-sidegate-audit': formatReceipt(receipt) }
      refuse(pipeline, client, failure, headers, noted.nextEvent)
    },
  }
}
