// Evidence of the usage log over REST: the newest checkpoint, inclusion and consistency proofs, and
// receipts of calls.

import type { ConsistencyProof, InclusionProof } from '../../audit/proof.ts'
import { consistencyObject, inclusionObject } from '../../audit/receipt.ts'
import type { Actor } from '../../core/actor.ts'
import { GatewayError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { bounded, whole } from '../../core/schema-builders.ts'
import type { ReceiptSource } from '../../pipeline/receipt-source.ts'
import type { Checkpoints } from '../../store/log/checkpoints.ts'
import { type ApiRoute, ok, readFields } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'
import { checkpointRoute, newestOf, type Signatures } from './checkpoint.ts'

interface AuditParts {
  /** Seals that the clock is right. */
  readonly trustClock: (actor: Actor) => Promise<void>
  readonly signatures: Signatures
  readonly checkpoints: Checkpoints
  readonly receipts: ReceiptSource
}

export function auditRoutes(parts: AuditParts): ApiRoute[] {
  const { signatures, checkpoints, receipts } = parts
  return [
    checkpointRoute(signatures, 'usage log', () => checkpoints.size),
    proofRoute(() => ({
      size: checkpoints.size,
      signed: newestOf(signatures).size,
      inclusion: (seq, size) => checkpoints.inclusion(seq, size),
      consistency: (from, size) => checkpoints.consistency(from, size),
    })),
    receiptRoute(async (id) => {
      const call = receipts.find(id)
      return call === null ? null : receipts.prove(call.record)
    }),
    {
      method: 'POST',
      path: '/api/v1/audit/clock',
      access: 'admin',
      operation: operation(
        'Says that the clock of the gateway is right, so that entries are removed for their age without an hour of waiting after a jump. Sealed as an entry `clock_trusted`.',
        { answer: 'ClockTrust', body: 'ClockTrust', errors: [503] },
      ),
      async answer(request) {
        const { trusted } = await readFields(request, ['trusted'])
        if (trusted !== true)
          throw new GatewayError('invalid_body', 'trusted must be true.', { param: 'trusted' })
        await parts.trustClock(request.session.name)
        return ok({ trusted })
      },
    },
  ]
}

type Later<Value> = Value | Promise<Value>

/** A log whose entries can be proved. */
export interface ProvenLog {
  /** Number of its entries, and of those that the newest checkpoint covers. */
  readonly size: number
  readonly signed: number
  /** Returns null when pruned entries are needed. */
  inclusion(seq: number, size: number): Later<InclusionProof | null>
  consistency(from: number, size: number): Later<ConsistencyProof | null>
}

/** What differs between a gateway and a hub. */
interface ProofForm {
  /** Parameters that say which log. */
  readonly query: Readonly<Record<string, JsonObject>>
}

/** @param logOf finds the log that a request means */
export const proofRoute = (
  logOf: (query: QueryString) => Later<ProvenLog>,
  form: ProofForm = { query: {} },
): ApiRoute => ({
  method: 'GET',
  path: '/api/v1/audit/proof',
  access: 'viewer',
  operation: operation(
    'Proves that an entry is in the log (`seq`), or that the log extends an older one (`from`), by RFC 6962.',
    {
      answer: 'Proof',
      query: {
        seq: bounded(0),
        from: bounded(1),
        size: whole("Number of entries in the log; the newest checkpoint's when left out.", 1),
        ...form.query,
      },
      errors: [400, 404, 503],
    },
  ),
  answer: async ({ search }) => {
    const query = new QueryString(search, ['seq', 'from', 'size', ...Object.keys(form.query)])
    const isInclusion = query.text('seq') !== null
    if (isInclusion === (query.text('from') !== null)) {
      const message =
        'Give either seq, to prove that an entry is in the log, or from, to prove that the log extends an older one.'
      throw new GatewayError('invalid_parameter', message, { param: 'seq' })
    }
    const log = await logOf(query)
    const size = query.integer('size', log.signed, 1, log.size)
    return ok(await (isInclusion ? proveEntry(log, query, size) : proveConsistency(log, query, size)))
  },
})

/** @param receiptOf returns null for an unknown call, or when its proof needs pruned entries */
export const receiptRoute = (receiptOf: (id: string) => Promise<JsonObject | null>): ApiRoute => ({
  method: 'GET',
  path: '/api/v1/audit/receipts/:id',
  access: 'viewer',
  operation: operation(
    'Proves that a call is in the usage log. Answers 503 when no checkpoint covers its entry yet, and at a hub 409 when none ever will.',
    { answer: 'SignedReceipt', errors: [404, 409, 503] },
  ),
  async answer({ params }) {
    const receipt = await receiptOf(params['id'] ?? '')
    if (receipt !== null) return ok(receipt)
    throw new GatewayError(
      'not_found',
      'There is no call with this id; GET /api/v1/usage/logs lists the calls.',
    )
  },
})

async function proveEntry(log: ProvenLog, query: QueryString, size: number): Promise<JsonObject> {
  const seq = query.integer('seq', 0, 0, size - 1)
  const proved = await log.inclusion(seq, size)
  if (proved === null) throw pruned()
  return inclusionObject(seq, size, proved)
}

async function proveConsistency(log: ProvenLog, query: QueryString, size: number): Promise<JsonObject> {
  const from = query.integer('from', 1, 1, size)
  const proved = await log.consistency(from, size)
  if (proved === null) throw pruned()
  return consistencyObject(from, size, proved)
}

const pruned = (): GatewayError =>
  new GatewayError('not_found', 'The proof needs entries that were pruned; use a newer seq or from.')
