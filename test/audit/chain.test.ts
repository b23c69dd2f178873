// Sealing and the chain: every change to a log is found at the right sequence number.

import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { genesis, type Head, type Sealed, seal } from '../../src/audit/chain.ts'
import { commit, commitSteps, hashContent } from '../../src/audit/content.ts'
import type { EntryDraft } from '../../src/audit/entry.ts'
import { ChainVerifier, MAXIMUM_ENTRY_BYTES, type StoredRecord, verifyChain } from '../../src/audit/verify.ts'
import { atOnce } from '../../src/core/steps.ts'
import { anyRequestDraft, requestDraft } from './drafts.ts'

const LOG = '01980000-0000-7000-8000-0000000000ff'
const OTHER_LOG = '01980000-0000-7000-8000-0000000000fe'
const START_MS = Date.UTC(2026, 2, 1)

function build(drafts: readonly EntryDraft[], log = LOG): StoredRecord[] {
  const sealed: Sealed[] = [
    genesis(log, { type: 'genesis', product: 'sidegate', continues: null, actor: 'gateway' }, START_MS),
  ]
  for (const [index, draft] of drafts.entries()) {
    const { entry, hash } = sealed.at(-1) as Sealed
    sealed.push(seal({ log: entry.log, seq: entry.seq, hash }, draft, START_MS + index, null))
  }
  return sealed.map(({ entry, hash, bytes }) => ({ seq: entry.seq, hash, bytes }))
}

const anyDraft: fc.Arbitrary<EntryDraft> = fc.oneof(
  anyRequestDraft,
  fc.record({
    type: fc.constant('key_revoked' as const),
    key_id: fc.uuid(),
    key_name: fc.string({ unit: 'grapheme' }),
    actor: fc.string({ unit: 'grapheme' }),
  }),
)
const anyLog = fc.array(anyDraft, { minLength: 2, maxLength: 8 }).map((drafts) => build(drafts))

const copy = (record: StoredRecord, changes: Partial<StoredRecord> = {}): StoredRecord => ({
  ...record,
  bytes: Buffer.from(record.bytes),
  ...changes,
})

t.test('an entry holds its position in the chain, and its hash covers every field', async (t) => {
  const head: Head = { log: LOG, seq: 41, hash: `sha256:${'ab'.repeat(32)}` }
  const { entry, bytes, hash } = seal(head, requestDraft(), START_MS, 'sha256:00')
  t.match(entry, {
    v: 2,
    log: LOG,
    seq: 42,
    prev: head.hash,
    ts: '2026-03-01T00:00:00.000Z',
    type: 'request',
    content_hash: 'sha256:00',
    hash,
  })
  const { hash: _, ...unsigned } = entry
  t.strictSame(JSON.parse(bytes.toString()), unsigned)
  const expected = createHash('sha256').update('sidegate-audit/v1/entry\n').update(bytes).digest('hex')
  t.equal(hash, `sha256:${expected}`)
})

t.test('only requests commit to content, and null means there was none', async (t) => {
  const head: Head = { log: LOG, seq: 0, hash: 'sha256:00' }
  t.equal(seal(head, requestDraft(), START_MS, null).entry.content_hash, null)
  const change = seal(head, { type: 'stop', version: '1', actor: 'gateway' }, START_MS, null)
  t.notOk('content_hash' in change.entry)
})

t.test('a draft cannot replace fields of the envelope', async (t) => {
  const draft = { ...requestDraft(), seq: 7, log: OTHER_LOG, prev: null, v: 9 }
  const { entry } = seal({ log: LOG, seq: 1, hash: 'sha256:00' }, draft, START_MS, null)
  t.match(entry, { v: 2, log: LOG, seq: 2, prev: 'sha256:00' })
})

t.test('a draft without a canonical form is not sealed', async (t) => {
  const head: Head = { log: LOG, seq: 0, hash: 'sha256:00' }
  for (const changes of [{ latency_ms: 1.5 }, { model: '\ud800' }, { cost: undefined as unknown as null }]) {
    t.throws(() => seal(head, requestDraft(changes), START_MS, null), TypeError)
  }
})

t.test('the content hash covers domain, salt and content', async (t) => {
  const salt = Buffer.alloc(32, 1)
  const content = Buffer.from('{"request":1}')
  const expected = createHash('sha256').update(
    Buffer.concat([Buffer.from('sidegate-audit/v1/content\n'), salt, content]),
  )
  t.equal(hashContent(salt, content), `sha256:${expected.digest('hex')}`)
  t.throws(() => hashContent(Buffer.alloc(31), content), RangeError)
})

t.test('an unchanged log verifies, whole or in pages', async (t) => {
  fc.assert(
    fc.property(anyLog, fc.nat(), (records, cut) => {
      const last = records.at(-1) as StoredRecord
      const head = { log: LOG, seq: last.seq, hash: last.hash }
      t.strictSame(verifyChain(records), { ok: true, checked: records.length, head })
      const place = 1 + (cut % (records.length - 1))
      const before = records[place - 1] as StoredRecord
      const tail = verifyChain(records.slice(place), { log: LOG, seq: before.seq, hash: before.hash })
      t.strictSame(tail, { ok: true, checked: records.length - place, head })
    }),
  )
  t.strictSame(verifyChain([]), { ok: true, checked: 0, head: null })
})

/** Changes that are possible without breaking SHA-256, each with the first bad sequence number. */
const ATTACKS: Record<
  string,
  (records: StoredRecord[], at: number, byte: number) => [StoredRecord[], number]
> = {
  'flips a bit of the entry': (records, at, byte) => {
    const bytes = Buffer.from((records[at] as StoredRecord).bytes)
    bytes[byte % bytes.length] = (bytes[byte % bytes.length] as number) ^ (1 << (byte % 8))
    return [records.with(at, { ...(records[at] as StoredRecord), bytes }), at]
  },
  'flips a digit of the hash': (records, at, byte) => {
    const { hash } = records[at] as StoredRecord
    const place = 7 + (byte % 64)
    const digit = hash[place] === '0' ? '1' : '0'
    return [
      records.with(
        at,
        copy(records[at] as StoredRecord, { hash: hash.slice(0, place) + digit + hash.slice(place + 1) }),
      ),
      at,
    ]
  },
  'deletes a record': (records, at) => [records.toSpliced(at, 1), at],
  'deletes a record and renumbers the rest': (records, at) => [
    records.toSpliced(at, 1).map((record, index) => copy(record, { seq: index })),
    at,
  ],
  'repeats a record': (records, at) => [records.toSpliced(at, 0, records[at] as StoredRecord), at + 1],
  'swaps two records': (records, at) => {
    const [a, b] = [records[at] as StoredRecord, records[at + 1] as StoredRecord]
    return [records.with(at, b).with(at + 1, a), at]
  },
  "swaps two records in each other's places": (records, at) => {
    const [a, b] = [records[at] as StoredRecord, records[at + 1] as StoredRecord]
    return [records.with(at, copy(b, { seq: a.seq })).with(at + 1, copy(a, { seq: b.seq })), at]
  },
  'rewrites an entry and its hash': (records, at) => {
    const entry = JSON.parse(Buffer.from((records[at] as StoredRecord).bytes).toString())
    const forged = reseal({ ...entry, ts: '2020-01-01T00:00:00.000Z' })
    // Nothing precedes the genesis entry and nothing follows the last: only an outside witness
    // protects those.
    return [records.with(at, { seq: at, ...forged }), at + 1]
  },
  'puts in a record of another log': (records, at) => {
    const foreign = build(
      Array.from(records.slice(1), () => requestDraft()),
      OTHER_LOG,
    )
    return [records.with(at, foreign[at] as StoredRecord), at === 0 ? 1 : at]
  },
}

function reseal(entry: Record<string, unknown>): { hash: string; bytes: Buffer } {
  const sorted = Object.fromEntries(
    Object.keys(entry)
      .sort()
      .map((key) => [key, entry[key]]),
  )
  // Parsing sorted the nested objects of an entry, so only the top level can differ.
  const bytes = Buffer.from(JSON.stringify(sorted))
  const hash = createHash('sha256').update('sidegate-audit/v1/entry\n').update(bytes).digest('hex')
  return { hash: `sha256:${hash}`, bytes }
}

for (const [name, attack] of Object.entries(ATTACKS)) {
  t.test(`an attacker who ${name} is found, at the right sequence number`, async (t) => {
    fc.assert(
      fc.property(anyLog, fc.nat(), fc.nat(), (records, at, byte) => {
        const [changed, bad] = attack(records, at % (records.length - 1), byte)
        const verdict = verifyChain(changed)
        t.equal(verdict.ok, false)
        if (!verdict.ok) t.equal(verdict.fault.seq, bad)
      }),
    )
  })
}

t.test('the chain alone does not show a truncated tail; a head kept elsewhere does', async (t) => {
  const records = build([requestDraft(), requestDraft(), requestDraft()])
  t.equal(verifyChain(records.slice(0, 2)).ok, true)
})

t.test('a verdict names the fault', async (t) => {
  const records = build([requestDraft(), requestDraft()])
  const genesisRecord = records[0] as StoredRecord
  const second = JSON.parse(Buffer.from((records[1] as StoredRecord).bytes).toString())
  const forged = (changes: Record<string, unknown>) => [
    genesisRecord,
    { seq: 1, ...reseal({ ...second, ...changes }) },
  ]
  const raw = (text: string | Buffer) => {
    const bytes = Buffer.from(text)
    const hash = createHash('sha256').update('sidegate-audit/v1/entry\n').update(bytes).digest('hex')
    return [genesisRecord, { seq: 1, hash: `sha256:${hash}`, bytes }]
  }
  const cases: [string, StoredRecord[]][] = [
    ['record 1 is missing', [genesisRecord, records[2] as StoredRecord]],
    [
      'the hash does not match the entry',
      [genesisRecord, copy(records[1] as StoredRecord, { hash: 'sha256:' })],
    ],
    ['the entry is of an unknown version', forged({ v: 3 })],
    ['the entry has another sequence number', forged({ seq: 2 })],
    ['the entry names no log', forged({ log: 5 })],
    ['the entry belongs to another log', forged({ log: OTHER_LOG })],
    ['the entry does not link to the one before', forged({ prev: 'sha256:00' })],
    ['a genesis entry has sequence number 0, and this one has another', forged({ type: 'genesis' })],
    ['the entry lacks a time or a type', forged({ ts: 5 })],
    ['the first entry is not a genesis entry', [{ seq: 0, ...reseal({ ...second, seq: 0 }) }]],
    ['the entry is not UTF-8', raw(Buffer.from([0x22, 0xff, 0x22]))],
    ['the entry is not an object', raw('[]')],
    ['the entry is not in canonical form', raw('{"a": 1}')],
    ['the entry is not canonical JSON', raw('{')],
    ['the entry is not canonical JSON', raw('{"a":1.5}')],
    ['the entry is not canonical JSON', raw('['.repeat(100_000))],
    ['the entry is too long', raw(Buffer.alloc(MAXIMUM_ENTRY_BYTES + 1, 0x20))],
  ]
  for (const [reason, log] of cases) {
    const verdict = verifyChain(log)
    t.match(verdict, { ok: false, fault: { reason } }, reason)
  }
})

t.test('verification never throws on any input', async () => {
  const anyBytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.json().map((text) => Buffer.from(text)),
  )
  fc.assert(
    fc.property(fc.array(fc.record({ seq: fc.integer(), hash: fc.string(), bytes: anyBytes })), (records) => {
      const honest = records.map((record, seq) => {
        const hash = createHash('sha256')
          .update('sidegate-audit/v1/entry\n')
          .update(record.bytes)
          .digest('hex')
        return { seq, hash: `sha256:${hash}`, bytes: record.bytes }
      })
      return (
        verifyChain(records).ok === (records.length === 0) &&
        verifyChain(honest).ok === (records.length === 0)
      )
    }),
  )
})

t.test('after the first fault every further record is refused', async (t) => {
  const records = build([requestDraft()])
  const verifier = new ChainVerifier()
  t.equal(verifier.push(records[1] as StoredRecord), false)
  t.equal(verifier.push(records[0] as StoredRecord), false)
  t.match(verifier.verdict, { ok: false, checked: 0, fault: { seq: 0 } })
})

t.test('an exchange in parts has the same commitment as the whole', async (t) => {
  const salt = Buffer.alloc(32, 5)
  const piece = fc.record({ text: fc.string({ unit: 'grapheme' }), encoded: fc.boolean() })
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const whole = pieces.map(({ text }) => text).join('')
      const committed = commit(
        salt,
        pieces.map(({ text, encoded }) => (encoded ? Buffer.from(text) : text)),
      )
      t.same(committed, commit(salt, whole))
      t.equal(committed.hash, hashContent(salt, Buffer.from(whole)))
      t.equal(String(committed.salted.subarray(32)), whole)
    }),
  )
})

t.test('the bytes of an entry are those of earlier releases', async (t) => {
  const head: Head = { log: LOG, seq: 41, hash: `sha256:${'ab'.repeat(32)}` }
  const every = requestDraft({
    api: 'chat',
    attempts: 2,
    unscanned: true,
    method: 'POST',
    path: '/v1/images',
    request_bytes: 10,
    response_bytes: 20,
    upstream: 'default',
    labels: { team: 'search', app: 'ä' },
    cost_source: 'book',
    price_revision: '0a',
    pii: [{ action: 'redact', count: 2, direction: 'request', kind: 'email' }],
    rules: [
      { action: 'block', direction: 'request', id: 'r', name: 'n', threshold: 500, type: 'prompt_injection' },
    ],
    rules_omitted: 3,
    injection: {
      model: '3',
      path: 'messages[0].content',
      reasons: ['ignore'],
      score: 700,
      span: { end: 9, start: 1 },
      threshold: 500,
    },
    captured: false,
    has_user: true,
    upstream_request_id: 'req_1',
  })
  const golden = (draft: EntryDraft, content: string | null) => seal(head, draft, START_MS, content).hash
  t.equal(
    golden(requestDraft(), null),
    'sha256:23626c1042b9154994679f5bbdd6ddbc99e2a357986e09ea1af71b89fb609596',
  )
  t.equal(
    golden(every, 'sha256:11'),
    'sha256:d8658ca5742a4c56307dd149db253c1ff4c7c5461186537b33b1c30e9eefe5a6',
  )
  t.equal(
    golden({ type: 'stop', version: '1', actor: 'gateway' }, null),
    'sha256:0bf82fc4476ec2a8238c754511962d1e2c94f6ecc6222b3312b644824c4d3deb',
  )
})

t.test('an exchange has the same commitment in steps', async (t) => {
  const salt = Buffer.alloc(32, 7)
  for (const content of ['', '{}', ['{"a":"', Buffer.alloc(3_000_000, 'b'), '"}']])
    t.strictSame(atOnce(commitSteps(salt, content)), commit(salt, content))
})
