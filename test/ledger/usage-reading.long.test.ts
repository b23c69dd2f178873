// Pages of the calls of all logs against a plain filter over what was stored.

import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import type { SealedRequest } from '../../src/audit/entry.ts'
import { OUTCOMES } from '../../src/audit/entry-fields.ts'
import { securityEvents, stoppedBy } from '../../src/audit/security.ts'
import type { UsagePage, UsageQuery } from '../../src/audit/usage-query.ts'
import { hashUser } from '../../src/audit/user-hash.ts'
import { isoTime } from '../../src/core/time.ts'
import { UsageReading } from '../../src/ledger/usage-reading.ts'
import { requestDraft } from '../audit/drafts.ts'
import { openDatabase, partsOn } from './fixture.ts'
import { fleetDatabase } from './postgres.ts'
import { registerSidecar, type ShippedDraft, StoredTestLog } from './stored-log.ts'

t.setTimeout(120_000)

const DAY_MS = 86_400_000
const NOW_MS = Date.UTC(2026, 2, 1, 12)
const FLEET_KEY = Buffer.alloc(32, 7)
const SIDECARS = ['shop/web-1', 'shop/web-2', 'shop/web-3']
const KEYS = ['key-a', 'key-b']
const MODELS = ['model-a', 'model-b', 'model-c']
const USERS = ['alice', 'bob', null]

const { hub } = await fleetDatabase()
const database = openDatabase(t, hub)
await partsOn(database).log.open()
for (const [index, name] of SIDECARS.entries()) await registerSidecar(database, `id-${index}`, name)
/** Four logs, of which the last two are of one sidecar. */
const logs = await Promise.all([0, 1, 2, 2].map((sidecar) => StoredTestLog.begin(database, `id-${sidecar}`)))

/** A call as the test knows it. */
interface KnownCall {
  readonly sealed: SealedRequest
  readonly sidecar: string
  readonly user: string | null
}
const known: KnownCall[] = []

const anyCall = fc.record({
  log: fc.nat(3),
  minute: fc.integer({ min: 0, max: 40 }),
  key: fc.constantFrom(...KEYS),
  model: fc.constantFrom(...MODELS),
  outcome: fc.constantFrom(...OUTCOMES),
  user: fc.constantFrom(...USERS),
  blocked: fc.boolean(),
  directions: fc.subarray(['request', 'response'] as const),
  rules: fc.nat(2),
  tool: fc.constantFrom(null, 'bash', 'bash_history'),
  run: fc.constantFrom(null, 'a1', 'b2'),
  error: fc.constantFrom(null, 'model_not_allowed'),
  upstream: fc.constantFrom(null, 'eu\0'),
  team: fc.constantFrom(null, 'search', 'batch'),
})
type AnyCall = typeof anyCall extends fc.Arbitrary<infer One> ? One : never

async function store(calls: readonly AnyCall[]): Promise<void> {
  for (const {
    log,
    minute,
    key,
    model,
    outcome,
    user,
    blocked,
    directions,
    rules,
    tool,
    run,
    error,
    upstream,
    team,
  } of calls) {
    const draft = requestDraft({
      // PostgreSQL reads no JSON with an escaped NUL.
      ...{ id: randomUUID(), key_id: key, key_name: 'web\0', model, outcome, blocked, error_code: error },
      created_at: isoTime(NOW_MS - minute * 6 * 3_600_000),
      pii_detected: directions.length > 0,
      pii: directions.map((direction) => ({ kind: 'email', direction, count: 1 })),
      rules: Array.from({ length: rules }, (_, n) => ({
        ...{
          id: `r${n}`,
          name: `r${n}`,
          type: 'keyword_block',
          action: 'block',
          direction: 'request' as const,
        },
      })),
      ...(user !== null && { has_user: true as const }),
      ...(run !== null && { run }),
      ...(upstream !== null && { upstream }),
      ...(team !== null && { labels: { team, 'te=am': 'sea=rch' } }),
      ...(tool !== null && { tools: [{ called: 1, defined: true, name: tool, refused: 0 }] }),
    })
    const shipped: ShippedDraft = {
      draft,
      ...(user !== null && { user: { hash: hashUser(FLEET_KEY, user), clear: user } }),
    }
    const [sealed] = await logs[log]!.append([shipped], NOW_MS)
    known.push({ sealed: sealed!.entry as SealedRequest, sidecar: SIDECARS[Math.min(log, 2)]!, user })
  }
}

await store(fc.sample(anyCall, { numRuns: 150, seed: 7 }))

type AskedQuery = Pick<
  UsageQuery,
  | 'filter'
  | 'user'
  | 'outcomes'
  | 'stopped'
  | 'sidecar'
  | 'tool'
  | 'runs'
  | 'rule'
  | 'kind'
  | 'upstream'
  | 'label'
  | 'direction'
  | 'withEvents'
>

const orNull = <Value>(one: fc.Arbitrary<Value>) => fc.option(one, { nil: null })
const anyQuery: fc.Arbitrary<AskedQuery> = fc.record({
  filter: fc.record({
    keyId: orNull(fc.constantFrom(...KEYS, 'none\0')),
    model: orNull(fc.constantFrom(...MODELS)),
    blocked: orNull(fc.boolean()),
    piiDetected: orNull(fc.boolean()),
    sinceMs: orNull(fc.constant(NOW_MS - 7 * DAY_MS)),
    untilMs: orNull(fc.constant(NOW_MS - DAY_MS)),
  }),
  user: orNull(fc.constantFrom('alice', 'bob', 'nobody', hashUser(FLEET_KEY, 'alice').toString('hex'))),
  outcomes: orNull(fc.subarray([...OUTCOMES], { minLength: 1 })),
  stopped: fc.constantFrom(null, null, null, 'refused' as const, 'blocked' as const),
  sidecar: orNull(fc.constantFrom(...SIDECARS, 'id-2')),
  tool: orNull(fc.constantFrom('bash', 'bash_history', 'none\0')),
  runs: orNull(fc.constantFrom(['a1'], ['b2', 'c3'], ['a1', 'b2'])),
  // Most queries have none of these, so that enough calls match the others.
  rule: fc.constantFrom(null, null, null, 'r1'),
  kind: fc.constantFrom(null, null, null, 'email'),
  upstream: fc.constantFrom(null, null, null, 'eu\0'),
  label: fc.constantFrom(null, null, null, 'team=search', 'te=am=sea=rch'),
  direction: fc.constantFrom(null, null, 'response' as const),
  withEvents: fc.constantFrom(false, false, true),
})

/** The ids of the calls that match, newest first. */
function expected({
  filter = {},
  user,
  outcomes,
  stopped,
  sidecar,
  tool,
  runs,
  rule,
  kind,
  upstream,
  label,
  direction,
  withEvents,
}: AskedQuery): string[] {
  const isIn = (one: KnownCall) => {
    const { sealed } = one
    const at = Date.parse(sealed.created_at)
    return (
      (filter.keyId ?? sealed.key_id) === sealed.key_id &&
      (filter.model ?? sealed.model) === sealed.model &&
      (filter.blocked ?? sealed.blocked) === sealed.blocked &&
      (filter.piiDetected ?? sealed.pii_detected) === sealed.pii_detected &&
      at >= (filter.sinceMs ?? 0) &&
      at <= (filter.untilMs ?? NOW_MS) &&
      (outcomes == null || outcomes.includes(sealed.outcome)) &&
      (stopped == null || stoppedBy(sealed) === stopped) &&
      (tool == null || sealed.tools?.some(({ name }) => name === tool) === true) &&
      (runs == null || runs.includes(sealed.run ?? '')) &&
      (rule == null || sealed.rules.some(({ name }) => name === rule)) &&
      (kind == null || sealed.pii.some((one) => one.kind === kind)) &&
      (upstream == null || sealed.upstream === upstream) &&
      (label == null || Object.entries(sealed.labels ?? {}).some((one) => one.join('=') === label)) &&
      (direction == null ||
        [...sealed.pii, ...sealed.rules].some((found) => found.direction === direction)) &&
      (withEvents !== true || securityEvents(sealed).length > 0) &&
      (user == null ||
        (one.user !== null && [one.user, hashUser(FLEET_KEY, one.user).toString('hex')].includes(user))) &&
      (sidecar == null || one.sidecar === (sidecar === 'id-2' ? SIDECARS[2] : sidecar))
    )
  }
  const place = ({ sealed }: KnownCall) =>
    `${sealed.created_at} ${sealed.log} ${String(sealed.seq).padStart(9, '0')}`
  return known
    .filter(isIn)
    .sort((one, other) => (place(one) < place(other) ? 1 : -1))
    .map(({ sealed }) => sealed.id)
}

const idsOf = (pages: readonly UsagePage[]) => pages.flatMap((page) => page.logs.map(({ id }) => id))

/** Returns all pages by cursor. */
async function walk(reading: UsageReading, query: UsageQuery): Promise<UsagePage[]> {
  const pages = [await reading.list(query)]
  for (;;) {
    const { next_cursor } = pages.at(-1)!
    if (next_cursor === undefined) return pages
    pages.push(await reading.list({ ...query, offset: 0, cursor: next_cursor }))
  }
}

t.test('pages by cursor equal those by offset and a plain filter, also when few rows are read', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      anyQuery,
      fc.integer({ min: 1, max: 60 }),
      fc.constantFrom(20, 100, 100_000),
      fc.constantFrom(0, 5, 1000),
      async (query, limit, scanned, maximumUserCalls) => {
        const options = { queries: database, fleetKey: FLEET_KEY, maximumUserCalls }
        const reading = new UsageReading({ ...options, maximumScannedRows: scanned })
        const wanted = expected(query)
        t.strictSame(idsOf(await walk(reading, { ...query, limit, offset: 0 })), wanted)
        const offset = Math.floor(wanted.length / 2)
        t.strictSame(idsOf(await walk(reading, { ...query, limit, offset })), wanted.slice(offset))
        const whole = new UsageReading(options)
        const page = await whole.list({ ...query, limit, offset })
        t.strictSame(idsOf([page]), wanted.slice(offset, offset + limit))
        t.equal(page.total, wanted.length)
        t.notOk(page.total_is_lower_bound)
      },
    ),
    { numRuns: 40 },
  )
})

t.test('a filter by a text with a NUL finds its calls', async (t) => {
  const query = { upstream: 'eu\0' }
  const { logs } = await new UsageReading({ queries: database, fleetKey: FLEET_KEY }).list({
    ...{ ...query, limit: 1000, offset: 0 },
  })
  t.ok(logs.length > 0)
  t.strictSame(idsOf([{ logs, total: logs.length }]), expected(query))
})

t.test('pages by cursor have every call that was there at first once, while others arrive', async (t) => {
  const reading = new UsageReading({ queries: database, fleetKey: FLEET_KEY })
  const before = expected({})
  const ids: string[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await reading.list({ limit: 17, offset: 0, ...(cursor !== undefined && { cursor }) })
    ids.push(...idsOf([page]))
    cursor = page.next_cursor
    if (cursor === undefined) break
    await store(fc.sample(anyCall, 3))
  }
  t.equal(new Set(ids).size, ids.length)
  t.strictSame(
    ids.filter((id) => before.includes(id)),
    before,
  )
})

t.test('a total is a lower bound when more rows match than are counted', async (t) => {
  const reading = new UsageReading({ queries: database, fleetKey: FLEET_KEY, maximumCountedRows: 50 })
  const { total, total_is_lower_bound, logs } = await reading.list({ limit: 60, offset: 0 })
  t.ok(total <= 50)
  t.equal(total_is_lower_bound, true)
  t.equal(logs.length, 60)
})

t.test('a view names its sidecar and its end user; a cursor that no page has is refused', async (t) => {
  const reading = new UsageReading({ queries: database, fleetKey: FLEET_KEY })
  const { logs: views } = await reading.list({ limit: 1000, offset: 0 })
  for (const { id, sidecar, user } of views) {
    const call = known.find(({ sealed }) => sealed.id === id)!
    t.strictSame([sidecar, user], [call.sidecar, call.user])
  }
  for (const cursor of ['', 'x', 'MDo', Buffer.from('0:1:2:3').toString('base64url')])
    await t.rejects(reading.list({ limit: 1, offset: 0, cursor }), { code: 'invalid_parameter' })
  const { logs, total } = await reading.list({ limit: 1, offset: 0, sidecar: 'shop/web-9' })
  t.same({ logs, total }, { logs: [], total: 0 }, 'an unknown sidecar has no calls')
})

t.test('security events are those of the calls, day by day', async (t) => {
  const reading = new UsageReading({ queries: database, fleetKey: FLEET_KEY })
  const report = await reading.security({ days: 7, limit: 1000, offset: 0, nowMs: NOW_MS })
  const since = Date.parse(report.since)
  const order = expected({ filter: { sinceMs: since } })
  const calls = order.map((id) => known.find(({ sealed }) => sealed.id === id)!)
  const events = calls.flatMap(({ sealed, sidecar }) =>
    securityEvents(sealed)
      .map((event) => ({ ...event, sidecar }))
      .reverse(),
  )
  t.strictSame(report.events, events)
  t.equal(report.total, events.length)
  for (const { date, ...totals } of report.by_day) {
    const ofDay = (type: string) =>
      events.filter((event) => event.type === type && event.created_at.startsWith(date)).length
    t.strictSame(totals, {
      blocked_requests: ofDay('blocked_request'),
      refused_requests: ofDay('refused_request'),
      pii_detections: ofDay('pii_detection'),
      rule_triggers: ofDay('rule_trigger'),
    })
  }
  for (let offset = 0; offset <= events.length; offset += 37) {
    const page = await reading.security({ days: 7, limit: 10, offset, nowMs: NOW_MS })
    t.strictSame(page.events, events.slice(offset, offset + 10), String(offset))
  }
})

t.test('an entry that its sidecar made by other rules has no view and harms no page', async (t) => {
  const reading = new UsageReading({ queries: database, fleetKey: FLEET_KEY })
  const { total } = await reading.list({ limit: 1, offset: 0 })
  const odd = requestDraft({ id: randomUUID(), blocked: true, rules: 'none' as never, pii: null as never })
  const ruled = requestDraft({ id: randomUUID(), rules: [null as never] })
  const nameless = requestDraft({ id: 7 as never })
  await logs[0]!.append([{ draft: odd }, { draft: nameless }], NOW_MS)
  const page = await reading.list({ limit: 1000, offset: 0 })
  t.equal(page.total, total)
  t.equal(page.logs.length, total)
  t.equal(await reading.get(odd.id), null)
  const report = await reading.security({ days: 7, limit: 1000, offset: 0, nowMs: NOW_MS })
  t.notOk(report.events.some(({ log_id }) => log_id === odd.id))
  await logs[0]!.append([{ draft: ruled }], NOW_MS)
  const { total: more, logs: views } = await reading.list({ limit: 1000, offset: 0 })
  t.strictSame([more, views.length], [total + 1, total + 1])
  t.match(await reading.get(ruled.id), { rules: [] })
})

t.test('a call comes with its exchange until it is erased', async (t) => {
  const reading = new UsageReading({ queries: database, fleetKey: FLEET_KEY })
  const draft = requestDraft({ id: randomUUID() })
  const content = JSON.stringify({ request: { model: 'm' }, response: { ok: true } })
  const [sealed] = await logs[1]!.append([{ draft, content }], NOW_MS)
  t.match(await reading.get(draft.id), {
    ...{ id: draft.id, sidecar: 'shop/web-2', hash: sealed!.hash, erased: false },
    ...{ request: { model: 'm' }, response: { ok: true } },
  })
  await database.rows('delete from exchange where log_id = $1', [logs[1]!.id])
  t.match(await reading.get(draft.id), { request: null, response: null, erased: true })
  for (const id of ['none', '\0', 'x'.repeat(1000)]) t.equal(await reading.get(id), null)
})
