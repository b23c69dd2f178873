// What is found in entries that a sidecar sends: by themselves, and against what is stored.

import fc from 'fast-check'
import t from 'tap'
import { checkArrival, type EntryReader, type LogBeginning, placeArrival } from '../../src/audit/arrival.ts'
import type { Head } from '../../src/audit/chain.ts'
import { atOnce } from '../../src/core/steps.ts'
import type { ShippedEntry } from '../../src/fleet/shipping.ts'
import { requestDraft } from './drafts.ts'
import { LOG } from './logs.ts'
import { SidecarLog, shipped } from './sidecar-log.ts'

/** Finds fault with a name. */
const READER: EntryReader<object> = (members) =>
  members.get('name') === 7 ? 'name must be a text' : { type: members.get('type') }
const check = (entries: readonly ShippedEntry[], log = LOG) => atOnce(checkArrival(log, entries, READER))

const arrived = (entries: readonly ShippedEntry[]) => {
  const result = check(entries)
  if ('reason' in result) throw new Error(result.reason)
  return result
}

/** A log of five entries, the newest a call with an exchange and an end user. */
const log = new SidecarLog().addMany(3).add(requestDraft(), '{"request":1}', 'ana')
const [first, second, third, , last] = log.entries as [
  ShippedEntry,
  ShippedEntry,
  ShippedEntry,
  ShippedEntry,
  ShippedEntry,
]
const bytes = (entry: ShippedEntry, change: (text: string) => string): ShippedEntry =>
  shipped(Buffer.from(change(entry.bytes.toString())))
const other = new SidecarLog('01980000-0000-7000-8000-0000000000aa').addMany(2)

t.test('entries that are right arrive with what is kept of them', async (t) => {
  const result = arrived(log.entries)
  t.strictSame(
    result.map(({ seq, type, kept }) => ({ seq, type, kept })),
    ['genesis', 'request', 'request', 'request', 'request'].map((type, seq) => ({
      seq,
      type,
      kept: { type },
    })),
  )
  t.match(arrived([last]), [{ seq: 4, prev: log.entries[3]!.hash, sealedMs: Date.UTC(2026, 2, 1) + 4 }])
})

const FAULTS: readonly [what: string, entries: readonly ShippedEntry[], kind: string, reason: RegExp][] = [
  ['a forged hash', [{ ...first, hash: second.hash }], 'forged', /hash does not match/],
  ['bytes that were changed', [{ ...last, bytes: Buffer.from('{}') }], 'forged', /hash does not match/],
  ['another exchange', [{ ...last, content: Buffer.alloc(40) }], 'forged', /exchange is not/],
  ['an exchange without salt', [{ ...last, content: Buffer.alloc(31) }], 'forged', /exchange is not/],
  ['an exchange that no entry names', [{ ...second, content: last.content }], 'forged', /exchange is not/],
  ['an end user that no entry names', [{ ...second, user: last.user }], 'form', /without an end user/],
  ['white space', [bytes(second, (text) => text.replace(':', ': '))], 'form', /canonical/],
  ['members out of order', [shipped(Buffer.from('{"b":1,"a":1}'))], 'form', /canonical/],
  [
    'a member twice',
    [bytes(second, (text) => text.replace('{', '{"api":"a","api":"b",'))],
    'form',
    /canonical/,
  ],
  ['no JSON', [shipped(Buffer.from('x'))], 'form', /canonical JSON/],
  ['a list', [shipped(Buffer.from('[]'))], 'form', /not an object/],
  ['no UTF-8', [shipped(Buffer.from([0xff]))], 'form', /UTF-8/],
  ['an entry that is too long', [shipped(Buffer.alloc(300_000, 0x20))], 'forged', /too long/],
  ['another log', other.entries.slice(1, 2), 'form', /another log/],
  ['the genesis entry of another log', other.entries.slice(0, 1), 'form', /another log/],
  ['no sequence number', [log.crafted({ seq: '5' })], 'form', /no sequence number/],
  ['a negative sequence number', [log.crafted({ seq: -1 })], 'form', /no sequence number/],
  ['no time', [log.crafted({ ts: 1 })], 'form', /lacks a time/],
  ['a time that is none', [log.crafted({ ts: 'today' })], 'form', /no valid time/],
  ['a time before 1970', [log.crafted({ ts: '0000-01-01T00:00:00Z' })], 'form', /no valid time/],
  ['no type', [log.crafted({ type: null })], 'form', /lacks a time or a type/],
  [
    'a second genesis entry',
    [log.crafted({ type: 'genesis' })],
    'form',
    /genesis entry has sequence number 0/,
  ],
  ['no version', [log.crafted({ v: null })], 'form', /: v must be a whole number of at least 1/],
  ['a version that is a text', [log.crafted({ v: '2' })], 'form', /: v must be/],
  ['a version below 1', [log.crafted({ v: 0 })], 'form', /: v must be/],
  ['a member that the reader refuses', [log.crafted({ name: 7 })], 'form', /: name must be a text/],
  ['a first entry that is no genesis', [log.crafted({ seq: 0 })], 'form', /not a genesis/],
  ['a gap', [first, third], 'gap', /another sequence number/],
  ['an entry twice', [second, second], 'gap', /another sequence number/],
  ['an entry that follows another', [last, log.fork(4).add().add().entries[5]!], 'chain', /does not link/],
]
for (const [what, entries, kind, reason] of FAULTS)
  t.test(`it is found: ${what}`, async (t) => {
    t.match(check(entries), { kind, reason, entry: entries.at(-1) })
  })

t.test('an entry of a format that is not known yet arrives as it is', async (t) => {
  const next = log.crafted({ v: 3, type: 'thought', more: { of: ['anything'] } })
  t.match(arrived([next]), [{ seq: 5, type: 'thought' }])
  t.match(check([log.crafted({ v: 3, prev: null })]), { kind: 'chain' }, 'it has the same envelope')
})

/** Places entries after the first ones of the log. */
const place = (
  entries: readonly ShippedEntry[],
  stored: number,
  beginning: LogBeginning | null = null,
  forgotten = 0,
) => {
  const head: Head | null = stored === 0 ? null : log.fork(stored).head
  const hashOf = (seq: number) => (seq < forgotten ? undefined : log.entries[seq]?.hash)
  return placeArrival(arrived(entries), head, beginning, hashOf)
}

t.test('entries are placed after what is stored', async (t) => {
  t.strictSame(place(log.entries, 0), { from: 0 }, 'a new log')
  t.strictSame(place(log.entries.slice(2), 2), { from: 0 }, 'the next')
  t.strictSame(place(log.entries, 3), { from: 3 }, 'some are sent again')
  t.strictSame(place(log.entries, 5), { from: 5 }, 'all are sent again')
  t.strictSame(place(log.entries.slice(0, 2), 5), { from: 2 }, 'old ones are sent again')
  t.strictSame(place([last], 3), { want: 3 }, 'one is missing')
  t.strictSame(place([last], 0), { want: 0 }, 'all before are missing')
  const rewritten = log
    .fork(2)
    .add(requestDraft({ model: 'x' }))
    .add()
  t.match(place(rewritten.entries, 5), { kind: 'fork', seq: 2, stored: third.hash })
  t.match(place(rewritten.entries.slice(3), 3), { kind: 'chain', seq: 3, stored: third.hash })
  t.match(place(rewritten.entries.slice(3), 4), { kind: 'fork', seq: 3 })
  t.strictSame(place(log.entries.slice(1), 5, null, 3), { from: 4 }, 'the oldest are stored no more')
  const one = new SidecarLog(LOG, 5)
  t.match(place(one.entries, 5), { kind: 'fork', seq: 0 }, 'another log with the same id')
})

t.test('a log whose beginning was pruned is taken with the edge of its tree', async (t) => {
  const entries = log.from(3)
  const [{ before }] = entries as [ShippedEntry]
  t.strictSame(place(entries, 0, before), { from: 0 })
  t.strictSame(place(entries, 2, before), { from: 0 }, 'also after entries that are stored')
  t.strictSame(place(log.entries.slice(3), 2), { want: 2 }, 'but not without that edge')
  t.match(place(entries, 0, { ...before!, hash: first.hash }), { kind: 'chain', seq: 3 })
  for (const frontier of [[], ['x'], [before!.frontier[0]!]])
    t.match(place(entries, 0, { ...before!, frontier }), { kind: 'form', seq: 3 }, frontier.join())
})

t.test('no input makes the check throw', async (t) => {
  const any = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map((all) => Buffer.from(all)),
    fc.json().map((text) => Buffer.from(text)),
  )
  fc.assert(
    fc.property(any, (one) => {
      const entry = shipped(one)
      return 'reason' in check([entry]) && 'reason' in check([first, entry])
    }),
  )
  t.pass()
})
