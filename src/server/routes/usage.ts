// The usage log and the security events over REST.

import { OUTCOMES, STOPPED_BY } from '../../audit/entry-fields.ts'
import type {
  SecurityQuery,
  SecurityReport,
  UsageDetail,
  UsagePage,
  UsageQuery,
} from '../../audit/usage-query.ts'
import { includesRole } from '../../core/admin-role.ts'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { DIRECTIONS } from '../../core/finding.ts'
import type { JsonObject } from '../../core/json.ts'
import { bounded, choice, flag, text, time } from '../../core/schema-builders.ts'
import { type ApiRoute, ok } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import { QueryString } from '../query-string.ts'

const FILTERS = [
  'key_id',
  'user',
  'model',
  'outcome',
  'stopped',
  'tool',
  'run',
  'upstream',
  'rule',
  'kind',
  'label',
  'direction',
  'events',
  'blocked',
  'pii_detected',
  'since',
  'until',
]
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

/** A cursor contains the rest of the offset that it was made for. */
function cursorIn(query: QueryString): string | null {
  const cursor = query.text('cursor')
  if (cursor === null || query.text('offset') === null) return cursor
  throw new GatewayError('invalid_parameter', 'Give either cursor or offset, not both.', { param: 'cursor' })
}

function labelIn(query: QueryString): string | null {
  const label = query.text('label')
  if (label === null || label.indexOf('=') > 0) return label
  throw new GatewayError('invalid_parameter', 'label must be name=value, such as team=search.', {
    param: 'label',
  })
}

/** A log of calls, or all logs of a fleet; it may answer later. */
export interface Calls {
  /** @throws GatewayError (rejects) `invalid_parameter` for an unknown cursor or sidecar */
  list(query: UsageQuery): Promise<UsagePage>
  get(id: string): Promise<UsageDetail | null> | UsageDetail | null
  security(query: SecurityQuery): Promise<SecurityReport> | SecurityReport
}

/** The schemas of answers, and parameters, that differ between a gateway and a hub. */
export interface UsageForm {
  readonly list: string
  readonly detail: string
  readonly query: Readonly<Record<string, JsonObject>>
  /** Statuses of errors besides those of both. */
  readonly errors: readonly number[]
}

const OF_GATEWAY: UsageForm = {
  list: 'UsageLogs',
  detail: 'UsageEntryDetail',
  query: {
    newest: text(
      'Id of a call: lists it and the calls sealed before it, so that an offset means the same call while others end.',
    ),
  },
  errors: [],
}

/** @param hashesOfRun returns the hashes that entries may have of a run, by its name */
export function usageRoutes(
  log: Calls,
  clock: Clock,
  hashesOfRun: (name: string) => readonly string[],
  form = OF_GATEWAY,
): ApiRoute[] {
  const more = Object.keys(form.query)
  return [
    {
      method: 'GET',
      path: '/api/v1/usage/logs',
      access: 'viewer',
      operation: operation('Lists the usage log, newest first.', {
        answer: form.list,
        query: {
          ...PAGE,
          key_id: { type: 'string' },
          user: text('End user, as the client names the user, or the hash in `user` of an entry.'),
          model: { type: 'string' },
          outcome: {
            ...text('How a call ended; several with commas between them.'),
            pattern: `^(${OUTCOMES.join('|')})(,(${OUTCOMES.join('|')}))*$`,
          },
          stopped: choice(
            '`refused` lists the calls that a limit, budget, model, tool or route rule stopped, `blocked` those that a content rule did.',
            ...STOPPED_BY,
          ),
          tool: text('Name of a tool that calls defined or called.'),
          run: text('Run, as calls name it, or the hash in `run` of an entry.'),
          upstream: text('Name of the upstream that was asked last.'),
          rule: text('Name of a rule that fired.'),
          kind: text('Kind of personal data that was found.'),
          direction: choice('Direction in which something was found or a rule fired.', ...DIRECTIONS),
          events: flag(
            'Lists only calls with a security event: stopped, with personal data, or with a rule that fired.',
          ),
          label: text('Label of the key at the time of the call, as `name=value`.'),
          blocked: { type: 'boolean' },
          pii_detected: { type: 'boolean' },
          since: { type: 'string', format: 'date-time' },
          until: time('Latest arrival of a call. A date includes its whole day, in UTC.'),
          cursor: text(
            '`next_cursor` of an answer with the same filters, instead of `offset`. Pages do not overlap, even while calls that arrived before `until` end.',
          ),
          ...form.query,
        },
        errors: [400, ...form.errors],
      }),
      async answer(request) {
        const query = new QueryString(request.search, [...PAGE_NAMES, ...FILTERS, 'cursor', ...more])
        const run = query.text('run')
        return ok(
          await log.list({
            ...page(query),
            cursor: cursorIn(query),
            sidecar: query.text('sidecar'),
            newest: query.text('newest'),
            user: query.text('user'),
            outcomes: query.choices('outcome', OUTCOMES),
            stopped: query.choice('stopped', STOPPED_BY),
            tool: query.text('tool'),
            runs: run === null ? null : [run, ...hashesOfRun(run)],
            upstream: query.text('upstream'),
            rule: query.text('rule'),
            kind: query.text('kind'),
            label: labelIn(query),
            direction: query.choice('direction', DIRECTIONS),
            withEvents: query.boolean('events') === true,
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
          answer: form.detail,
          errors: [404, ...form.errors],
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
        errors: [400, ...form.errors],
      }),
      async answer(request) {
        const query = new QueryString(request.search, ['days', ...PAGE_NAMES])
        const days = query.integer('days', DEFAULT_DAYS, 1, MAXIMUM_DAYS)
        return ok(await log.security({ days, ...page(query), nowMs: clock.now() }))
      },
    },
  ]
}
