// Answers sidecars about stored answers that other sidecars made: `GET /fleet/v1/stored/:hash`,
// several hashes separated by commas, and by POST the claim of the tokens of one.

import { parseJson } from '../chat/strict-json.ts'
import { GatewayError } from '../core/errors.ts'
import { isObject } from '../core/json.ts'
import { splitTarget } from '../core/request-path.ts'
import { CLAIM_MS, hashesIn } from '../fleet/stored-protocol.ts'
import type { AnswerOwners } from '../ledger/answer-owners.ts'
import { readJsonBody } from '../server/body.ts'
import type { ManagementParts } from '../server/management.ts'
import { respond, respondJson } from '../server/respond.ts'
import { answerSidecar, type SidecarAnswer } from './sidecar-answer.ts'
import type { SidecarIdentity } from './verified-token.ts'

/** Longest claim. */
const CLAIM_BYTES = 4096
/** Longest line of keys, and id of a call. */
const MAXIMUM_ID_CHARACTERS = 128

interface StoredHandlerParts extends Pick<ManagementParts, 'logger' | 'metrics' | 'newId'> {
  /** @throws GatewayError (rejects) `invalid_token` */
  readonly verify: (authorization: string | undefined) => Promise<SidecarIdentity>
  readonly owners: Pick<AnswerOwners, 'find' | 'claim'>
  /** Whether sidecars of a namespace get a key of a line. */
  readonly isGivenLine: (line: string, namespace: string) => boolean
}

/** Returns what answers a method and a path; null for others. */
export function storedHandler(
  parts: StoredHandlerParts,
): (method: string, path: string) => SidecarAnswer | null {
  const { owners, isGivenLine } = parts
  return (method, path) => {
    const hashes = hashesIn(path)
    if (hashes === null) return null
    const [hash, ...others] = hashes as [string, ...string[]]
    if (method === 'GET')
      return answerSidecar(parts, async ({ namespace }, request, response) => {
        const query = new URLSearchParams(splitTarget(request.url ?? '').search)
        const line = textOf(query.get('key_line'), 'key_line')
        // As the feed: a sidecar learns nothing of keys that it does not get.
        const isGiven = isGivenLine(line, namespace)
        const answers = isGiven ? await owners.find(line, hashes) : hashes.map(() => null)
        respond(response, 200, { 'content-type': 'application/json' }, JSON.stringify({ answers }))
      })
    if (method !== 'POST' || others.length > 0) return null
    return answerSidecar(parts, async ({ namespace }, request, response) => {
      const body = parseJson(await readJsonBody(request, CLAIM_BYTES))
      const { key_line, call } = isObject(body) ? body : {}
      const line = textOf(key_line, 'key_line')
      const id = textOf(call, 'call')
      const claimed = isGivenLine(line, namespace) ? await owners.claim(line, hash, id, CLAIM_MS) : null
      respondJson(response, 200, { claimed })
    })
  }
}

/** @throws GatewayError `invalid_parameter` */
function textOf(value: unknown, name: string): string {
  const isText = typeof value === 'string' && value.length <= MAXIMUM_ID_CHARACTERS
  if (isText && /^[\x20-\x7e]+$/.test(value)) return value
  throw new GatewayError(
    'invalid_parameter',
    `${name} must be a text of 1 to ${MAXIMUM_ID_CHARACTERS} printable characters.`,
    { param: name },
  )
}
