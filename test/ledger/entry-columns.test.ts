// The columns of `entry` against PostgreSQL: any value that a sidecar may seal is stored, and
// what is read equals what the entry says.

import fc from 'fast-check'
import t from 'tap'
import { canonicalize } from '../../src/audit/canonical.ts'
import { genesis, hashEntry, seal } from '../../src/audit/chain.ts'
import { OUTCOMES } from '../../src/audit/entry-fields.ts'
import { MAXIMUM_NANO_USD } from '../../src/core/money.ts'
import {
  COLUMN_NAMES,
  COLUMN_READER,
  columnsOf,
  differingColumn,
  type EntryRow,
  insertEntries,
  MAXIMUM_COLUMN_CHARACTERS,
} from '../../src/ledger/entry-columns.ts'
import { anyRequestDraft, bootDraft, requestDraft } from '../audit/drafts.ts'
import { LOG } from '../audit/logs.ts'
import { openDatabase } from './fixture.ts'
import { fleetDatabase } from './postgres.ts'

const NOW = Date.UTC(2026, 2, 1)
const { hub } = await fleetDatabase()
const database = openDatabase(t, hub)

const membersOf = (entry: object) => new Map<string, unknown>(Object.entries(entry))
let next = 0

/** Writes an entry, and returns its row. */
async function stored(entry: object): Promise<Record<string, unknown>> {
  const bytes = Buffer.from(canonicalize(entry))
  const seq = next++
  const row: EntryRow = { log: LOG, seq, hash: hashEntry(bytes), bytes, columns: columnsOf(membersOf(entry)) }
  await insertEntries(database, [row])
  const [read] = await database.rows<Record<string, unknown>>(
    `select ${COLUMN_NAMES} from entry where log_id = $1 and seq = $2`,
    [LOG, seq],
  )
  return read!
}

const sealed = (draft: Parameters<typeof seal>[1]): Record<string, unknown> => {
  const head = { log: LOG, seq: 1, hash: `sha256:${'a'.repeat(64)}` }
  const { hash: _, ...entry } = seal(head, draft, NOW, null).entry
  return entry as unknown as Record<string, unknown>
}

t.test('a call has all columns', async (t) => {
  const labels = { team: 'legal', app: 'desk' }
  const row = await stored(sealed(requestDraft({ labels, blocked: true })))
  t.match(row, {
    ...{ type: 'request', call_id: requestDraft().id, key_id: requestDraft().key_id, model: 'openai/gpt-5' },
    ...{ outcome: 'ok', status: 200, prompt_tokens: 12, completion_tokens: 30, cost: 1234 },
    ...{ blocked: true, pii: false, rule_triggers: 0, labels, created_at: Date.UTC(2026, 2, 1, 12) },
  })
  t.equal((row['prev'] as Buffer).toString('hex'), 'a'.repeat(64))
})

t.test('any other entry has its time and its type, and no column of calls', async (t) => {
  t.match(await stored(sealed(bootDraft('k'))), { type: 'boot', created_at: NOW, model: null, blocked: null })
  const draft = { type: 'genesis', product: 'sidegate', continues: null, actor: 'gateway' } as const
  const { hash: _, ...first } = genesis(LOG, draft, NOW).entry
  t.match(await stored(first), { type: 'genesis', prev: null })
})

t.test('an entry of an unknown format has only the columns of its envelope', async (t) => {
  const row = await stored({ ...sealed(requestDraft({ labels: { team: 'legal' } })), v: 3 })
  t.match(row, { type: 'request', created_at: NOW, call_id: null, key_id: null, model: null, labels: null })
})

const anyText = fc.string({ unit: fc.constantFrom('\0', '😀', '"', '\\', ',', '{', 'a'), maxLength: 400 })

t.test('what is stored equals what the entry says, for anything that an entry may hold', async (t) => {
  const any = fc
    .tuple(anyRequestDraft, anyText, fc.dictionary(anyText, anyText, { maxKeys: 3 }), fc.anything())
    .map(([draft, model, labels, odd]) => {
      const value = JSON.parse(
        JSON.stringify(odd ?? null, (_, one) => (typeof one === 'bigint' ? 0 : one)) ?? '0',
      )
      return { ...sealed({ ...draft, model, labels }), status: value, blocked: value, created_at: value }
    })
    .filter((entry) => {
      try {
        return canonicalize(entry) !== ''
      } catch {
        return false
      }
    })
  await fc.assert(
    fc.asyncProperty(any, async (entry) => differingColumn(await stored(entry), membersOf(entry)) === null),
    { numRuns: 100 },
  )
  t.pass()
})

const faultOf = (entry: object) => {
  const read = COLUMN_READER(membersOf(entry))
  return typeof read === 'string' ? read : null
}

const WRONG: readonly [member: string, values: readonly unknown[], fault: RegExp][] = [
  ['id', [7, null, {}], /^id must be a text$/],
  ['created_at', ['nope', 7, '1969-12-31T23:59:59Z'], /^created_at must be an RFC 3339 time since 1970$/],
  ['key_id', [7], /^key_id must be a text$/],
  ['model', [[]], /^model must be a text$/],
  ['outcome', [null], /^outcome must be a text$/],
  ['status', ['x', -1, 1000], /^status must be a whole number from 0 to 999$/],
  ['prompt_tokens', [-1, '1', 0.5], /^prompt_tokens must be a whole number of at least 0$/],
  ['completion_tokens', [null], /^completion_tokens must be a whole number of at least 0$/],
  ['cost', [-9e15, '1'], /^cost must be a whole number of at least 0 or null$/],
  ['blocked', [1], /^blocked must be true or false$/],
  ['pii_detected', ['true'], /^pii_detected must be true or false$/],
  ['pii', ['x', null], /^pii must be a list$/],
  ['pii', [[{ kind: 'email', direction: 'request', count: -1 }]], /^pii\[0\]\.count must be a whole number/],
  ['rules', ['none'], /^rules must be a list$/],
  ['rules', [[null]], /^rules\[0\] must be an object$/],
  ['rules', [[{ id: 'a', name: 'a' }]], /^rules\[0\]\.action is required$/],
  ['labels', ['x', null, []], /^labels must be an object$/],
  ['labels', [{ team: 7 }], /^labels\.\* must be a text$/],
]
t.test('a member of a call that a column repeats has the type and range of its field', async (t) => {
  for (const v of [1, 2])
    for (const [member, values, fault] of WRONG)
      for (const value of values)
        t.match(faultOf({ ...sealed(requestDraft()), v, [member]: value }), fault, `${member} ${value}`)
  for (const [member] of WRONG.filter(([name]) => name !== 'labels')) {
    const { [member]: _, ...rest } = sealed(requestDraft())
    t.equal(faultOf(rest), `${member} is required`)
  }
})

t.test('entries of another type or an unknown version are not looked into', async (t) => {
  t.equal(faultOf({ ...sealed(requestDraft()), v: 3, id: 7 }), null)
  t.equal(faultOf({ ...sealed(bootDraft('k')), id: 7, cost: -1 }), null)
})

t.test('every call that this release or one before can seal is right', async (t) => {
  const more = fc.record(
    {
      labels: fc.dictionary(fc.string(), fc.string()),
      pii: fc.constant([{ action: 'allow', count: 1, direction: 'request' as const, kind: 'email' }]),
      rules: fc.constant([
        { action: 'block', direction: 'request' as const, id: 'a', name: 'a', threshold: 1, type: 'x' },
      ]),
      outcome: fc.constantFrom(...OUTCOMES, 'later' as never),
      status: fc.integer({ min: 0, max: 599 }),
      cost: fc.constantFrom(null, 0, MAXIMUM_NANO_USD),
      cost_source: fc.constant('book' as const),
      api: fc.string(),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(anyRequestDraft, more, fc.constantFrom(1, 2), (draft, changes, v) => {
      return faultOf({ ...sealed({ ...draft, ...changes }), v }) === null
    }),
  )
  t.pass()
})

t.test('a text that no index takes is cut', async (t) => {
  const row = await stored(sealed(requestDraft({ key_id: '😀'.repeat(5000) })))
  t.equal((row['key_id'] as string).length, MAXIMUM_COLUMN_CHARACTERS)
})

t.test('a column that differs is named', async (t) => {
  const entry = membersOf(sealed(requestDraft({ labels: { team: 'legal' } })))
  const row = await stored(Object.fromEntries(entry))
  for (const [name, other] of Object.entries({ cost: 1, labels: { team: 'x' }, pii: null, created_at: 0 }))
    t.equal(differingColumn({ ...row, [name]: other }, entry), name)
})
