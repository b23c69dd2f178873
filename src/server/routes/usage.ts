// The usage log and the security events over REST.

import { OUTCOMES } from '../../audit/entry-fields.ts'
import { includesRole } from '../../core/admin-role.ts'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { bounded, choice, text, time } from '../../core/schema-builders.ts'
import { readCursor, type UsageCursor, type UsagePage, type UsageQuery } from '../../store/log/list.ts'
import type { UsageLog } from '../../store/log/log.ts'
import type { SecurityQuery, SecurityReport, UsageDetail } from '../../store/log/query.ts'
import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'
import { eraseRoute } from './erase.ts'

const FILTERS = ['key_id', 'user', 'model', 'outcome', 'blocked', 'pii_detected', 'since', 'until']
const DEFAULT_LIMIT = 50
const MAXIMUM_LIMIT = 1000
const DEFAULT_DAYS = 7
const MAXIMUM_DAYS = 365

const PAGE = {
  limit: bounded(1, MAXIMUM_LIMIT, DEFAULT_LIMIT),
  offset: { ...bounded(0), default: 0 },
}
const PAGE_NAMES = Object.keys(PAGE)

const page = (query: QueryString) => ({
  limit: query.integer('limit', DEFAULT_LIMIT, 1, MAXIMUM_LIMIT),
  offset: query.integer('offset', 0, 0, Number.MAX_SAFE_INTEGER),
})

/** Reads the cursor. A cursor contains the rest of the offset that it was made for. */
function readPageCursor(query: QueryString): UsageCursor | null {
  const text = query.text('cursor')
  if (text === null) return null
  const cursor = readCursor(text)
  if (cursor !== null && query.text('offset') === null) return cursor
  const message =
    cursor === null
      ? 'cursor must be the next_cursor of an answer.'
      : 'Give either cursor or offset, not both.'
  throw new GatewayError('invalid_parameter', message, { param: 'cursor' })
}

/** What the routes read of a log of calls; it may answer later. */
export interface Calls {
  list(query: UsageQuery): Promise<UsagePage>
  get(id: string): Promise<UsageDetail | null> | UsageDetail | null
  security(query: SecurityQuery): Promise<SecurityReport> | SecurityReport
}

export function usageRoutes(log: Calls & Pick<UsageLog, 'erase'>, clock: Clock): ApiRoute[] {
  return [
    eraseRoute(log),
    {
      method: 'GET',
      path: '/api/v1/usage/logs',
      access: 'viewer',
      operation: operation('Lists the usage log, newest first.', {
        answer: 'UsageLogs',
        query: {
          ...PAGE,
          key_id: { type: 'string' },
          user: text('End user, as the client names the user, or the hash in `user` of an entry.'),
          model: { type: 'string' },
          outcome: choice('How a call ended.', ...OUTCOMES),
          blocked: { type: 'boolean' },
          pii_detected: { type: 'boolean' },
          since: { type: 'string', format: 'date-time' },
          until: time('Latest arrival of a call. A date includes its whole day, in UTC.'),
          cursor: text(
            '`next_cursor` of an answer with the same filters, instead of `offset`. Pages do not overlap, even while calls that arrived before `until` end.',
          ),
        },
        errors: [400],
      }),
      async answer(request) {
        const query = new QueryString(request.search, [...PAGE_NAMES, ...FILTERS, 'cursor'])
        return ok(
          await log.list({
            ...page(query),
            cursor: readPageCursor(query),
            user: query.text('user'),
            outcome: query.choice('outcome', OUTCOMES),
            filter: {
              keyId: query.text('key_id'),
              model: query.text('model'),
              blocked: query.boolean('blocked'),
              piiDetected: query.boolean('pii_detected'),
              sinceMs: query.time('since'),
              untilMs: query.endTime('until'),
            },
          }),
        )
      },
    },
    {
      method: 'GET',
      path: '/api/v1/usage/logs/:id',
      access: 'viewer',
      operation: operation(
        'Returns one entry with the captured exchange, whose texts are null for a viewer.',
        {
          answer: 'UsageEntryDetail',
          errors: [404],
        },
      ),
      async answer(request) {
        const entry = await log.get(request.params['id'] ?? '')
        if (entry === null)
          throw new GatewayError(
            'not_found',
            'There is no usage entry with this id; GET /api/v1/usage/logs lists the entries.',
          )
        if (includesRole(request.session.role, 'auditor')) return ok(entry)
        return ok({ ...entry, request: null, response: null })
      },
    },
    {
      method: 'GET',
      path: '/api/v1/usage/security',
      access: 'viewer',
      operation: operation('Reports the security events of the last days.', {
        answer: 'SecurityReport',
        query: { ...PAGE, days: bounded(1, 365, 7) },
        errors: [400],
      }),
      async answer(request) {
        const query = new QueryString(request.search, ['days', ...PAGE_NAMES])
        const days = query.integer('days', DEFAULT_DAYS, 1, MAXIMUM_DAYS)
        return ok(await log.security({ days, ...page(query), nowMs: clock.now() }))
      },
    },
  ]
}
