// The protocol between hubs and sidecars: what is printed is read, and what is not known is said.

import fc from 'fast-check'
import t from 'tap'
import { SseParser } from '../../src/chat/sse.ts'
import type { JsonObject } from '../../src/core/json.ts'
import {
  type FeedEvent,
  KEEP_ALIVE,
  MAXIMUM_FEED_EVENT_BYTES,
  printEvent,
  printPosition,
  readAck,
  readEvent,
  readPosition,
} from '../../src/fleet/protocol.ts'
import { StateHash } from '../../src/fleet/state-hash.ts'
import type { OrderSelection } from '../../src/keys/erase-order.ts'
import { ENFORCED_TERMS, fleetKeyOf, storedKeyOf, termsOf } from '../../src/keys/fleet-key.ts'

const EPOCH = '0b0e7a4e-5a0c-4f6a-9d55-3d1f7c9f4a10'
const rev = fc.nat()
const text = fc.string({ minLength: 1, maxLength: 20 })
const key = fc.record({
  id: text,
  sha256: fc.stringMatching(/^[0-9a-f]{64}$/),
  name: text,
  prefix: fc.option(text),
  line: text,
  replaces: fc.option(text),
  terms: fc.constantFrom<JsonObject>({}, { models: ['a*'] }, { labels: { team: 'search' } }),
  created_at: fc.constant('2026-11-01T00:00:00.000Z'),
  rev,
})
const order = fc.record({
  rev,
  id: fc.uuid(),
  selection: fc.constantFrom<OrderSelection>(
    { request_id: 'call' },
    { key_id: 'key' },
    { user: '0123456789abcdef'.repeat(2) },
    { before: '2026-11-01T00:00:00.000Z' },
  ),
})
const event: fc.Arbitrary<FeedEvent> = fc.oneof(
  fc.record({
    event: fc.constant('hello' as const),
    epoch: fc.constant(EPOCH),
    rev,
    sidecar: text,
    name: text,
    fleet_key: text,
  }),
  fc.record({
    event: fc.constant('snapshot' as const),
    rev,
    keys: fc.array(key),
    revoked: fc.array(text),
    orders: fc.array(order, { maxLength: 3 }),
  }),
  order.map((one) => ({ event: 'erase' as const, ...one })),
  fc.record({
    event: fc.constant('key' as const),
    rev,
    id: text,
    op: fc.constant('put' as const),
    body: key,
  }),
  fc.record({
    event: fc.constant('key' as const),
    rev,
    id: text,
    op: fc.constant('del' as const),
    body: fc.constantFrom(null, { revoked_at: '2026-11-01T00:00:00.000Z' }),
  }),
  fc.record({ event: fc.constant('beat' as const), t: fc.nat(), rev, state_hash: text }),
  fc.record({ event: fc.constant('bye' as const), reason: text }),
)

const parse = (bytes: string) =>
  new SseParser(MAXIMUM_FEED_EVENT_BYTES).push(Buffer.from(bytes)).map(readEvent)

t.test('each event that is printed is read as it was', async (t) => {
  fc.assert(
    fc.property(fc.array(event), (events) => {
      t.same(parse(events.map((one) => printEvent(one, EPOCH) + KEEP_ALIVE).join('')).filter(Boolean), events)
    }),
    { numRuns: 50 },
  )
})

t.test('changes and snapshots carry their position, and heartbeats none', async (t) => {
  const [, id] =
    /^id: (.*)$/m.exec(printEvent({ event: 'snapshot', rev: 7, keys: [], revoked: [], orders: [] }, EPOCH)) ??
    []
  t.same(readPosition(id ?? ''), { epoch: EPOCH, rev: 7 })
  t.notMatch(printEvent({ event: 'beat', t: 1, rev: 7, state_hash: 'a' }, EPOCH), /^id:/m)
  for (const bad of ['', 'x:1', `${EPOCH}:`, `${EPOCH}:-1`, `${EPOCH}:1.5`, `${EPOCH}:1:2`])
    t.equal(readPosition(bad), null, bad)
  t.same(readPosition(printPosition({ epoch: EPOCH, rev: 0 })), { epoch: EPOCH, rev: 0 })
})

t.test('what this release does not know is reported with its revision, never guessed', async (t) => {
  const of = (lines: string) => parse(`id: ${EPOCH}:9\n${lines}\n\n`)[0]
  t.match(of('event: rule\ndata: {}'), { event: 'unknown', name: 'rule', rev: 9 })
  t.match(of('data: {}'), { event: 'unknown', name: 'message' })
  t.match(of('event: __proto__\ndata: {}'), { event: 'unknown', name: '__proto__' })
  t.match(of('event: beat\ndata: {"t":1}'), { event: 'unknown', name: 'beat', reason: /rev/ })
  t.match(of('event: beat\ndata: nonsense'), { event: 'unknown', name: 'beat' })
  t.match(of('event: key\ndata: {"rev":1,"id":"a","op":"replace","body":null}'), { event: 'unknown' })
})

t.test('an acknowledgement needs its revision and durability, and the rest is optional', async (t) => {
  t.same(readAck({ rev: 3, durable: true }), {
    rev: 3,
    durable: true,
    nack: [],
    last_used: {},
    conflicts: [],
  })
  t.match(readAck({ rev: -1, durable: true }), /rev/)
  t.match(readAck({ rev: 1 }), /durable/)
  t.match(readAck([]), /must be/)
  t.match(readAck({ rev: 1, durable: true, nack: [{ rev: 1 }] }), /reason/)
})

t.test('the state hash is one of the set of keys, whatever the order of changes', async (t) => {
  const hashOf = (keys: readonly { id: string; rev: number }[]) => {
    const hash = new StateHash()
    for (const one of keys) hash.toggle(one)
    return hash.toString()
  }
  fc.assert(
    fc.property(fc.uniqueArray(fc.record({ id: text, rev }), { selector: ({ id }) => id }), (keys) => {
      const [first, ...rest] = keys
      t.equal(hashOf(keys), hashOf([...keys].reverse()))
      if (first !== undefined) {
        t.equal(hashOf([...keys, first]), hashOf(rest), 'a key that is removed leaves no trace')
        t.not(hashOf([{ ...first, rev: first.rev + 1 }, ...rest]), hashOf(keys))
      }
    }),
  )
})

t.test('a key travels with the terms that it has, without its namespaces', async (t) => {
  const terms = {
    ...{
      models: ['gpt*'],
      expiresAtMs: 1_800_000_000_000,
      owner: 'the search team',
      labels: { team: 'search' },
    },
    ...{ capture: 'metadata' as const, maxParallel: 3, namespaces: ['shop'] },
  }
  const stored = {
    id: 'k',
    name: 'app',
    prefix: 'sg',
    createdAtMs: 1_700_000_000_000,
    revokedAtMs: null,
    terms,
  }
  const sent = fleetKeyOf({ sha256: 'a'.repeat(64), stored, rev: 4 })
  t.same(termsOf(sent).sort(), [...ENFORCED_TERMS].sort())
  const { namespaces: _, ...enforced } = terms
  t.same(storedKeyOf(sent), { ...stored, line: 'k', replaces: null, terms: enforced })
  t.same(termsOf(fleetKeyOf({ sha256: 'a', stored: { ...stored, terms: undefined! }, rev: 1 })), [])
})
