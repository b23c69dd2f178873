// What an outsider needs to check the log without trusting it: the newest checkpoint, proofs that lead to it, and a
// full check on demand.

import type { Checkpoint } from '../../audit/checkpoint.ts'
import type { Milliseconds } from '../../core/clock.ts'
import { within } from '../../core/deadline.ts'
import { GatewayError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { isoTime } from '../../core/time.ts'
import type { Checkpoints } from '../../store/log/checkpoints.ts'
import type { BackgroundVerification, VerificationStatus } from '../../store/verification/background.ts'
import { type ApiAnswer, type ApiRoute, ok } from '../api.ts'
import { Query } from '../query-string.ts'

/** A check of a log that is not long is over by then, and its answer can be the verdict. */
const MAX_WAIT_MS: Milliseconds = 5000

type Signed = Checkpoint & { readonly note: string }

/** What the routes ask of the log's signatures. */
interface Signatures {
  readonly publicKey: string
  readonly newest: Signed | null
}

export function auditRoutes(
  signatures: Signatures,
  checkpoints: Checkpoints,
  check: BackgroundVerification,
): ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/audit/checkpoint',
      answer: async () => ok(describeCheckpoint(newestOf(signatures), signatures.publicKey)),
    },
    {
      method: 'GET',
      path: '/api/v1/audit/proof',
      answer: async ({ search }) => {
        const query = new Query(search, ['seq', 'from', 'size'])
        const isInclusion = query.text('seq') !== null
        if (isInclusion === (query.text('from') !== null)) {
          const message =
            'Give seq, to prove that an entry is in the log, or from, to prove what it began with.'
          throw new GatewayError('invalid_parameter', message, { param: 'seq' })
        }
        const size = query.integer('size', newestOf(signatures).size, 1, checkpoints.size)
        return ok(
          isInclusion ? proveEntry(checkpoints, query, size) : proveBeginning(checkpoints, query, size),
        )
      },
    },
    { method: 'GET', path: '/api/v1/audit/verify', answer: async () => ok(describeCheck(check.status)) },
    {
      method: 'POST',
      path: '/api/v1/audit/verify',
      answer: () => verify(check),
    },
  ]
}

function newestOf({ newest }: Signatures): Signed {
  if (newest !== null) return newest
  throw new GatewayError('audit_unavailable', 'The usage log could not be signed for yet.')
}

const base64 = (node: Buffer): string => node.toString('base64')

function describeCheckpoint(newest: Signed, publicKey: string): JsonObject {
  const { note, log, size, root, head, time } = newest
  return { checkpoint: note, log, size, root: base64(root), head, created_at: time, public_key: publicKey }
}

function proveEntry(checkpoints: Checkpoints, query: Query, size: number): JsonObject {
  const seq = query.integer('seq', 0, 0, size - 1)
  const proved = checkpoints.inclusion(seq, size)
  if (proved === null) throw pruned()
  const { leaf, root, proof } = proved
  return { seq, size, leaf_hash: base64(leaf), root: base64(root), proof: proof.map(base64) }
}

function proveBeginning(checkpoints: Checkpoints, query: Query, size: number): JsonObject {
  const from = query.integer('from', 1, 1, size)
  const proved = checkpoints.consistency(from, size)
  if (proved === null) throw pruned()
  const { fromRoot, root, proof } = proved
  return { from, size, from_root: base64(fromRoot), root: base64(root), proof: proof.map(base64) }
}

const pruned = (): GatewayError =>
  new GatewayError('not_found', 'Entries that the proof would be made of were pruned.')

/** Waits a while, so that of a log that is not long the verdict is the answer. */
async function verify(check: BackgroundVerification): Promise<ApiAnswer> {
  await within(check.start(), MAX_WAIT_MS)
  const { status } = check
  return { status: status.running ? 202 : 200, body: describeCheck(status) }
}

function describeCheck(status: VerificationStatus): JsonObject {
  const { running, progress, startedAtMs, finishedAtMs, verdict, failure } = status
  return {
    running,
    progress,
    ok: verdict === null ? null : verdict['ok'] === true,
    started_at: startedAtMs === null ? null : isoTime(startedAtMs),
    finished_at: finishedAtMs === null ? null : isoTime(finishedAtMs),
    result: verdict,
    error: failure,
  }
}
