// Erases captured exchanges over REST: those of one call, of a key, of an end user, or from before
// a time.

import type { Actor } from '../../core/actor.ts'
import type { Clock, Milliseconds } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { isoTime, parseTime } from '../../core/time.ts'
import { type EraseSelection, type Erasure, isTooFarAhead } from '../../store/log/erase.ts'
import { type ApiRoute, ok, readFields, requireText } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'

const SELECTIONS = ['request_id', 'key_id', 'user', 'before']
const MAXIMUM_TEXT = 128
const MAXIMUM_USER_CHARACTERS = 65_536

/** What erases: the log of a gateway, or the hubs. */
interface Erasing {
  /** Resolves with null for a call or key that is not known. */
  erase(selection: EraseSelection, actor: Actor): Promise<Erasure | null>
}

export function eraseRoute(log: Erasing, clock: Pick<Clock, 'now'>): Exclude<ApiRoute, { access: 'open' }> {
  return {
    method: 'POST',
    path: '/api/v1/audit/erase',
    access: 'admin',
    operation: operation('Erases captured exchanges. Their entries stay, and the erasure is sealed.', {
      answer: 'Erasure',
      body: 'EraseSelection',
      errors: [404, 503],
    }),
    async answer(request) {
      const selection = readSelection(await readFields(request, SELECTIONS), clock.now())
      const erasure = await log.erase(selection, request.session.name)
      if (erasure === null)
        throw new GatewayError(
          'not_found',
          'There is no usage entry or key with this id; GET /api/v1/usage/logs and /api/v1/keys list them.',
        )
      return ok(erasure)
    },
  }
}

function readSelection(fields: JsonObject, nowMs: Milliseconds): EraseSelection {
  const [name, more] = Object.keys(fields)
  if (name === undefined || more !== undefined) {
    throw new GatewayError('invalid_body', `Give exactly one of ${SELECTIONS.join(', ')}.`, {
      param: more ?? 'request_id',
    })
  }
  if (name === 'user') return { user: requireText(fields, name, MAXIMUM_USER_CHARACTERS) }
  const text = requireText(fields, name, MAXIMUM_TEXT)
  if (name === 'request_id') return { requestId: text }
  if (name === 'key_id') return { keyId: text }
  return { beforeMs: readBefore(text, nowMs) }
}

function readBefore(text: string, nowMs: Milliseconds): Milliseconds {
  const beforeMs = parseTime(text)
  if (beforeMs === null)
    throw new GatewayError(
      'invalid_body',
      'before must be a date or a time with its zone, like 2026-01-31T12:00:00Z.',
      { param: 'before' },
    )
  if (isTooFarAhead(beforeMs, nowMs))
    throw new GatewayError(
      'invalid_body',
      `before is ${isoTime(beforeMs)}, more than a day from now, and would erase everything; check the year, or give ${isoTime(nowMs)} if you mean all calls so far.`,
      { param: 'before' },
    )
  return beforeMs
}
