// Answers sidecars: opens their feeds, takes acknowledgements and goodbyes. A sidecar's credential
// opens these paths, and nothing else does.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseJson } from '../chat/strict-json.ts'
import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonValue } from '../core/json.ts'
import { LEASES_PATH, readLeaseRequest } from '../fleet/lease-protocol.ts'
import { FLEET_HEADERS, FLEET_PATHS, PROTOCOL, readAck, readPosition } from '../fleet/protocol.ts'
import type { LedgerReceipts } from '../ledger/ledger-receipts.ts'
import type { LimitLedger } from '../ledger/limit-ledger.ts'
import type { SidecarLedger } from '../ledger/sidecar-ledger.ts'
import { readJsonBody } from '../server/body.ts'
import type { ManagementParts } from '../server/management.ts'
import { respond } from '../server/respond.ts'
import type { FeedRequest, Feeds } from './feeds.ts'
import type { KeyUseReports } from './key-use-reports.ts'
import type { LeaseDesk } from './lease-desk.ts'
import { isForNamespace } from './namespaces.ts'
import { answerSidecar, type SidecarAnswer } from './sidecar-answer.ts'
import type { SidecarIdentity } from './verified-token.ts'

/** Longest acknowledgement: times of last use of all keys. */
const ACK_BYTES = 2 * 1024 * 1024
/** Longest request for leases. */
const LEASES_BYTES = 1024 * 1024
/** Longest request for a receipt. */
const RECEIPT_BYTES = 4096
const MAXIMUM_FEATURES = 64
const FEATURE = /^[a-z0-9_]{1,64}$/
const VERSION = /^[\w.+-]{1,64}$/
const MAXIMUM_STALE_SECONDS = 31_536_000

export interface FleetHandlerParts extends Pick<ManagementParts, 'logger' | 'metrics' | 'newId'> {
  /** @throws GatewayError (rejects) `invalid_token` */
  readonly verify: (authorization: string | undefined) => Promise<SidecarIdentity>
  readonly feeds: Feeds
  readonly sidecars: Pick<SidecarLedger, 'left'>
  readonly uses: KeyUseReports
  readonly receipts: Pick<LedgerReceipts, 'receipt'>
  readonly leases: LeaseDesk
  readonly limits: Pick<LimitLedger, 'left'>
}

/** Returns what answers a method and a path; null for others. */
export function fleetHandler(
  parts: FleetHandlerParts,
): (method: string, path: string) => SidecarAnswer | null {
  const { feeds, sidecars, uses, leases, limits, receipts } = parts
  const answers = new Map<
    string,
    (sidecar: SidecarIdentity, ...rest: Parameters<SidecarAnswer>) => Promise<void>
  >([
    [
      `GET ${FLEET_PATHS.feed}`,
      (sidecar, request, response) => feeds.open(sidecar, feedRequest(request), response),
    ],
    [
      `POST ${FLEET_PATHS.ack}`,
      async (sidecar, request, response) => {
        const ack = readAck(parseJson(await readJsonBody(request, ACK_BYTES)))
        if (typeof ack === 'string') throw new GatewayError('invalid_body', `${ack}.`)
        const feed = feeds.feed(sidecar.id)
        feeds.acknowledge(sidecar.id, ack)
        if (feed !== undefined) uses.note(ack.last_used, feed.group)
        empty(response)
      },
    ],
    [
      `POST ${FLEET_PATHS.leave}`,
      async (sidecar, _, response) => {
        await feeds.leave(sidecar.id, () => sidecars.left(sidecar.id))
        await limits.left(sidecar.id)
        empty(response)
      },
    ],
    [
      `POST ${LEASES_PATH}`,
      async (sidecar, request, response) => {
        const asked = readLeaseRequest(parseJson(await readJsonBody(request, LEASES_BYTES)))
        if (typeof asked === 'string') throw new GatewayError('invalid_body', `${asked}.`)
        const answer = JSON.stringify(await leases.answer(sidecar, asked))
        respond(response, 200, { 'content-type': 'application/json' }, answer)
      },
    ],
    [
      `POST ${FLEET_PATHS.receipt}`,
      async ({ namespace }, request, response) => {
        const { id, line } = receiptRequest(parseJson(await readJsonBody(request, RECEIPT_BYTES)))
        // As the feed: a sidecar learns nothing of keys that it does not get.
        const isGiven = (globs: readonly string[] | null) => isForNamespace(globs, namespace)
        const receipt = await receipts.receipt(id, { line, isGiven })
        if (receipt === null)
          throw new GatewayError('not_found', 'No call of this key at any sidecar has this id.')
        respond(response, 200, { 'content-type': 'application/json' }, JSON.stringify(receipt))
      },
    ],
  ])
  return (method, path) => {
    const answer = answers.get(`${method} ${path}`)
    return answer === undefined ? null : answerSidecar(parts, answer)
  }
}

/** @throws GatewayError `invalid_body` */
function receiptRequest(body: JsonValue): { readonly id: string; readonly line: string } {
  const { id, key_line: line } = isObject(body) ? body : {}
  if (typeof id === 'string' && typeof line === 'string') return { id, line }
  throw new GatewayError('invalid_body', 'id and key_line must be texts.')
}

const empty = (response: ServerResponse): void => respond(response, 204, {}, '')

/** Reads the headers of a sidecar. @throws GatewayError `invalid_parameter` with the header */
function feedRequest({ headers }: IncomingMessage): FeedRequest {
  const text = (name: string) => String(headers[name] ?? '')
  const refuse = (name: string, message: string) =>
    new GatewayError('invalid_parameter', `${name} ${message}`, { param: name })
  const { protocol, features, version, maxStale, resume } = FLEET_HEADERS
  if (text(protocol) !== String(PROTOCOL))
    throw refuse(protocol, `must be ${PROTOCOL}; run a sidecar and a hub of neighbouring releases.`)
  const names = text(features)
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (names.length > MAXIMUM_FEATURES || !names.every((name) => FEATURE.test(name)))
    throw refuse(features, 'must be names separated by commas.')
  if (!VERSION.test(text(version))) throw refuse(version, 'must be the version of the sidecar.')
  const seconds = /^\d{1,9}$/.test(text(maxStale)) ? Number(text(maxStale)) : 0
  if (seconds < 1 || seconds > MAXIMUM_STALE_SECONDS) throw refuse(maxStale, 'must be a number of seconds.')
  const last = text(resume)
  return {
    version: text(version),
    features: names,
    maxStaleSeconds: seconds,
    // After any other text the sidecar gets a snapshot.
    position: readPosition(last),
  }
}
