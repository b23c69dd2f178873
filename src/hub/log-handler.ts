// Answers sidecars that ship their logs: reads a few bodies at a time, checks them in turns with
// everything else, and answers once what they bring is durable.

import type { IncomingMessage } from 'node:http'
import { type ArrivalFault, CONFLICT_KINDS, checkArrival } from '../audit/arrival.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { inSlices, type Steps } from '../core/steps.ts'
import type { Timers } from '../core/timers.ts'
import {
  MAXIMUM_LONE_BYTES,
  MAXIMUM_SHIPPED_BYTES,
  MAXIMUM_SHIPPED_ENTRIES,
  readShippedLineSteps,
  SHIPMENT_TYPE,
  type ShipmentAnswer,
  ShipmentError,
  type ShippedEntry,
} from '../fleet/shipping.ts'
import { COLUMN_READER } from '../ledger/entry-columns.ts'
import type { Shipment, ShipmentResult } from '../ledger/shipped-logs.ts'
import type { HubMetrics } from '../metrics/hub-metrics.ts'
import type { Logger } from '../pipeline/record/record.ts'
import { readBytes } from '../server/body.ts'
import type { ManagementParts } from '../server/management.ts'
import { respondJson } from '../server/respond.ts'
import type { KeepConflict } from './conflicts.ts'
import type { Ingest } from './ingest.ts'
import { ShippingTurns } from './shipping-turns.ts'
import { answerSidecar, type SidecarAnswer } from './sidecar-answer.ts'
import type { SidecarIdentity } from './verified-token.ts'

/** Time for a body, once it is read: it has one of few turns. */
const BODY_MS: Milliseconds = 10_000
/** Times in a row that a log is asked for an entry that is missing, before that is a conflict. */
const MAXIMUM_WANTED = 3
/** Logs for which that is counted. */
const MAXIMUM_WANTING_LOGS = 10_000
const LOG_PATH = /^\/fleet\/v1\/logs\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/
const NDJSON_TYPE = /^application\/x-ndjson\s*(?:;|$)/i
const LINE_FEED = 0x0a
const MILLISECONDS = 1000

interface LogHandlerParts extends Pick<ManagementParts, 'newId'> {
  readonly logger: Pick<Logger, 'error' | 'warn'>
  readonly metrics: Pick<HubMetrics, 'refusals' | 'conflicts' | 'entries' | 'ingestDelay'>
  /** @throws GatewayError (rejects) `invalid_token` */
  readonly verify: (authorization: string | undefined) => Promise<SidecarIdentity>
  readonly ingest: Ingest
  readonly keep: KeepConflict
  readonly clock: Clock
  readonly timers: Timers
}

/** Returns what answers a method and a path; null for others. */
export function logHandler(parts: LogHandlerParts): (method: string, path: string) => SidecarAnswer | null {
  for (const kind of CONFLICT_KINDS) parts.metrics.conflicts.inc({ kind }, 0)
  const shipping = new Shipping(parts)
  return (method, path) => {
    const [, log] = method === 'POST' ? (LOG_PATH.exec(path) ?? []) : []
    if (log === undefined) return null
    return answerSidecar(parts, async (sidecar, request, response) => {
      const answer = await shipping.take(request, log, sidecar)
      respondJson(response, 'want' in answer || 'code' in answer ? 409 : 200, { ...answer })
    })
  }
}

class Shipping {
  readonly #parts: LogHandlerParts
  readonly #turns: ShippingTurns
  /** How often in a row a log did not send what it was asked for. */
  readonly #wanted = new Map<string, { readonly want: number; readonly times: number }>()

  constructor(parts: LogHandlerParts) {
    this.#parts = parts
    this.#turns = new ShippingTurns(parts.timers)
  }

  /** @throws GatewayError (rejects) */
  async take(
    request: IncomingMessage,
    log: string,
    sidecar: Pick<SidecarIdentity, 'id' | 'name'>,
  ): Promise<ShipmentAnswer> {
    const { 'content-type': type = '', 'content-encoding': coding } = request.headers
    if (!NDJSON_TYPE.test(type) || coding !== undefined)
      throw new GatewayError(
        'unsupported_media_type',
        `Send entries with content-type: ${SHIPMENT_TYPE} and no content-encoding.`,
      )
    const isLong = Number(request.headers['content-length']) > MAXIMUM_SHIPPED_BYTES
    const release = await this.#turns.take(sidecar.id, isLong)
    let result: Promise<ShipmentResult>
    try {
      if (request.destroyed) throw new GatewayError('bad_request', 'The connection closed before its turn.')
      const shipment = await this.#read(request, log, sidecar, isLong)
      ;({ result } = await this.#parts.ingest.submit(shipment))
      this.#observe(shipment, result)
    } finally {
      release()
    }
    return this.#answer(await result, log, sidecar.id)
  }

  /** Reads and checks a body. @throws GatewayError (rejects) */
  async #read(
    request: IncomingMessage,
    log: string,
    { id: sidecar, name }: Pick<SidecarIdentity, 'id' | 'name'>,
    isLong: boolean,
  ): Promise<Shipment> {
    const entries = await this.#entriesOf(await readBody(request, isLong, this.#parts.timers))
    const [first] = entries
    if (first === undefined) throw atLine(1, 'there are no entries')
    const checked = await inSlices(checkArrival(log, entries, COLUMN_READER), this.#parts.clock)
    if (!('reason' in checked)) return { log, sidecar, name, entries: checked, beginning: first.before }
    await this.#note(checked, log, sidecar, false)
    throw atLine(entries.indexOf(checked.entry as ShippedEntry) + 1, checked.reason)
  }

  #entriesOf(body: Buffer): Promise<ShippedEntry[]> {
    return inSlices(readLines(body), this.#parts.clock)
  }

  /** Counts what is stored, also for a sidecar that left before its answer. */
  #observe({ entries }: Shipment, result: Promise<ShipmentResult>): void {
    const { metrics, clock } = this.#parts
    const { sealedMs } = entries.at(-1)!
    const note = (stored: ShipmentResult) => {
      if (!('head' in stored) || stored.added === 0) return
      metrics.entries.inc(stored.added)
      metrics.ingestDelay.observe(Math.max(0, clock.now() - sealedMs) / MILLISECONDS)
    }
    result.then(note, () => {})
  }

  async #answer(result: ShipmentResult, log: string, sidecar: string): Promise<ShipmentAnswer> {
    if ('want' in result) {
      if (this.#isGap(log, result.want))
        await this.#parts.keep({ kind: 'gap', seq: result.want, ...NOTHING, log, sidecar, isFork: false })
      return result
    }
    this.#wanted.delete(log)
    if ('head' in result) return result.head
    if ('forkedAt' in result) return { code: 'fork', seq: result.forkedAt }
    if ('isForeign' in result) {
      await this.#parts.keep({ kind: 'foreign', seq: null, ...NOTHING, log, sidecar, isFork: false })
      throw new GatewayError(
        'forbidden',
        'The log is that of another sidecar; a sidecar ships its own log only.',
      )
    }
    const { fault, isFork } = result
    await this.#note(fault, log, sidecar, isFork)
    if (!isFork) throw atLine(1, fault.reason)
    return { code: 'fork', seq: fault.seq! }
  }

  /** Counts a request for the same entry; true for the one with which it becomes a conflict. */
  #isGap(log: string, want: number): boolean {
    const before = this.#wanted.get(log)
    const times = before?.want === want ? before.times + 1 : 1
    this.#wanted.delete(log)
    if (this.#wanted.size >= MAXIMUM_WANTING_LOGS) this.#wanted.delete(this.#wanted.keys().next().value!)
    this.#wanted.set(log, { want, times })
    return times === MAXIMUM_WANTED
  }

  #note(
    { kind, seq, stored, entry }: ArrivalFault,
    log: string,
    sidecar: string,
    isFork: boolean,
  ): Promise<void> {
    const { hash: sent, bytes: body } = entry
    return this.#parts.keep({ ...{ kind, seq, stored, sent, body }, log, sidecar, isFork })
  }
}

const NOTHING = { stored: null, sent: null, body: null }

const atLine = (line: number, reason: string): GatewayError =>
  new GatewayError('invalid_body', `line ${line}: ${reason}`)

/** @throws GatewayError (rejects) `invalid_body` for a body that is too long */
async function readBody(request: IncomingMessage, isLong: boolean, timers: Timers): Promise<Buffer> {
  const timer = timers.set(() => request.destroy(), BODY_MS)
  try {
    return await readBytes(request, isLong ? MAXIMUM_LONE_BYTES : MAXIMUM_SHIPPED_BYTES)
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'body_too_large') throw error
    const reason = isLong
      ? `an entry with its exchange has at most ${MAXIMUM_LONE_BYTES} bytes`
      : `a body of more than ${MAXIMUM_SHIPPED_BYTES} bytes needs a content-length`
    throw new GatewayError('invalid_body', `line 1: ${reason}`, { headers: { connection: 'close' } })
  } finally {
    timers.clear(timer)
  }
}

/** Reads lines, with a pause after each. @throws GatewayError `invalid_body` with the line */
function* readLines(body: Buffer): Steps<ShippedEntry[]> {
  const entries: ShippedEntry[] = []
  for (let start = 0; start < body.length; ) {
    const found = body.indexOf(LINE_FEED, start)
    const end = found < 0 ? body.length : found
    const number = entries.length + 1
    if (number > MAXIMUM_SHIPPED_ENTRIES)
      throw atLine(number, `a body has at most ${MAXIMUM_SHIPPED_ENTRIES} entries`)
    if (number > 1 && body.length > MAXIMUM_SHIPPED_BYTES)
      throw atLine(number, `a body of more than one entry has at most ${MAXIMUM_SHIPPED_BYTES} bytes`)
    entries.push(yield* readLine(body.subarray(start, end), number))
    start = end + 1
    yield
  }
  return entries
}

function* readLine(line: Buffer, number: number): Steps<ShippedEntry> {
  try {
    return yield* readShippedLineSteps(line)
  } catch (error) {
    if (error instanceof ShipmentError) throw atLine(number, error.message)
    throw error
  }
}
