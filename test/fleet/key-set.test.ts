// The keys of a hub in memory: order of events, tombstones, and what the disk lacks.

import fc from 'fast-check'
import t from 'tap'
import { KeySet, MAXIMUM_TOMBSTONES } from '../../src/fleet/key-set.ts'
import type { KeyPut, KeyRemoval } from '../../src/fleet/protocol.ts'
import type { FleetKey } from '../../src/keys/fleet-key.ts'
import { type FleetChanges, NO_FLEET_STATE, type RememberedFleet } from '../../src/keys/fleet-state.ts'
import { fleetKey, stateHashOf } from './fixture.ts'

const NOW_MS = Date.UTC(2026, 10, 1)
const EMPTY: RememberedFleet = { state: NO_FLEET_STATE, keys: [], tombstones: [] }
const [A, B] = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b']
const REVOKED_AT = '2026-10-31T00:00:00.000Z'

const snapshot = (rev: number, keys: readonly FleetKey[], revoked: readonly string[] = []) => ({
  event: 'snapshot' as const,
  rev,
  keys,
  revoked,
  orders: [],
})
const put = (body: FleetKey): KeyPut => ({ event: 'key', rev: body.rev, id: body.id, op: 'put', body })
const revoke = (rev: number, id: string): KeyRemoval => ({
  event: 'key',
  rev,
  id,
  op: 'del',
  body: { revoked_at: REVOKED_AT },
})
const remove = (rev: number, id: string): KeyRemoval => ({ event: 'key', rev, id, op: 'del', body: null })

/** Rows as a disk keeps them. */
class Disk {
  readonly keys = new Map<string, FleetKey>()
  readonly tombstones = new Map<string, number>()

  write({ put, removed, buried, forgotten }: Omit<FleetChanges, 'state'>): void {
    for (const key of put) this.keys.set(key.id, key)
    for (const id of removed) this.keys.delete(id)
    for (const [id, timeMs] of buried) this.tombstones.set(id, timeMs)
    for (const id of forgotten) this.tombstones.delete(id)
  }

  read(set: KeySet): RememberedFleet {
    const state = { ...NO_FLEET_STATE, ...set.position }
    return { state, keys: [...this.keys.values()], tombstones: [...this.tombstones] }
  }
}

t.test('keys come, change and go', async (t) => {
  const set = new KeySet(EMPTY)
  const { row } = fleetKey('a', 3, { models: ['gpt-*'], max_parallel: 2 })
  t.equal(set.change(put(row), NOW_MS), false, 'nothing counts before the first snapshot')
  set.replace(A, snapshot(2, []), NOW_MS)
  t.equal(set.change(put(row), NOW_MS), true)
  t.match(set.find(row.sha256), { id: 'a', name: 'key a', line: 'a', terms: { models: ['gpt-*'] } })
  t.equal(set.change(put({ ...row, terms: {} }), NOW_MS), false, 'of a revision that is applied')
  t.match(set.find(row.sha256)?.terms, { models: ['gpt-*'] })
  set.change(put({ ...row, rev: 4, terms: {} }), NOW_MS)
  t.match(set.find(row.sha256)?.terms, { models: null })
  const other = fleetKey('a', 5).row
  set.change(put(other), NOW_MS)
  t.equal(set.find(row.sha256), undefined, 'a key with another hash is no longer the old one')
  t.match(set.find(other.sha256), { id: 'a' })
  t.equal(String(set.stateHash), stateHashOf([other]))
  set.change(remove(6, 'a'), NOW_MS)
  t.equal(set.find(other.sha256), undefined)
  set.change(put({ ...other, rev: 7 }), NOW_MS)
  t.ok(set.find(other.sha256), 'a key that was only taken away may come back')
  t.same(set.conflicts(), [])
  t.same(set.position, { epoch: A, rev: 7 })
})

t.test('a revoked key stays refused, whatever a hub says later', async (t) => {
  const { row } = fleetKey('a', 1)
  const again = (rev: number) => ({ ...row, rev })
  const ways: [name: string, act: (set: KeySet) => void][] = [
    ['a put', (set) => set.change(put(again(9)), NOW_MS)],
    ['a snapshot', (set) => set.replace(A, snapshot(9, [again(9)]), NOW_MS)],
    ['a snapshot of another epoch', (set) => set.replace(B, snapshot(1, [again(1)]), NOW_MS)],
  ]
  const ends: [name: string, end: (set: KeySet) => void][] = [
    ['an event', (set) => set.change(revoke(3, 'a'), NOW_MS)],
    ['a snapshot', (set) => set.replace(A, snapshot(3, [], ['a']), NOW_MS)],
  ]
  for (const [how, act] of ways)
    for (const [by, end] of ends) {
      const disk = new Disk()
      const set = new KeySet(EMPTY)
      set.replace(A, snapshot(2, [row]), NOW_MS)
      t.ok(set.find(row.sha256))
      end(set)
      t.equal(set.find(row.sha256), undefined)
      act(set)
      disk.write(set.takeChanges())
      for (const one of [set, new KeySet(disk.read(set))]) {
        t.equal(one.find(row.sha256), undefined, `revoked by ${by}, returned by ${how}`)
        t.same(one.conflicts(), ['a'])
        t.same(one.accepted(), [])
        t.equal(String(one.stateHash), stateHashOf([...disk.keys.values()]), 'the hub has the key')
      }
    }
})

t.test('a key that this release cannot enforce is refused, and said so', async (t) => {
  const set = new KeySet(EMPTY)
  const bad = [
    { hours: '9-17' },
    { namespaces: ['shop'] },
    { models: 'gpt-*' },
    { max_parallel: -1 },
    { labels: { team: 5 } },
  ]
  const rows = bad.map((terms, index) => fleetKey(`k${index}`, 1, terms as never).row)
  set.replace(A, snapshot(1, rows), NOW_MS)
  for (const { sha256 } of rows) t.equal(set.find(sha256), undefined)
  t.match(
    set.refusals().map(({ reason }) => reason),
    [/k0: .*term hours/, /k1: .*namespaces/, /k2: models must/, /k3: max_parallel/, /k4: labels/],
  )
  set.change(put({ ...rows[0]!, rev: 2, terms: {} }), NOW_MS)
  t.ok(set.find(rows[0]!.sha256))
  t.equal(set.refusals().length, 4)
})

t.test('another history replaces keys whose revision it uses again', async (t) => {
  const { row } = fleetKey('a', 5, { models: ['old'] })
  const set = new KeySet(EMPTY)
  set.replace(A, snapshot(5, [row]), NOW_MS)
  set.replace(B, snapshot(5, [{ ...row, terms: { models: ['new'] } }]), NOW_MS)
  t.match(set.find(row.sha256)?.terms, { models: ['new'] })
})

t.test(
  'random events in any chunks, with restarts and failing disks, end in the state of the hub',
  async () => {
    const ids = ['a', 'b', 'c', 'd']
    const step = fc.record({
      id: fc.constantFrom(...ids),
      op: fc.constantFrom('put', 'del', 'take', 'other'),
      models: fc.constantFrom<string[] | undefined>(undefined, ['m']),
    })
    const reception = fc.constantFrom('event', 'twice', 'snapshot', 'restart', 'failure')
    fc.assert(
      fc.property(fc.array(fc.tuple(step, reception), { maxLength: 40 }), (steps) => {
        const hub = new Map<string, FleetKey>()
        const revoked = new Set<string>()
        const hashes = new Map<string, string>()
        const disk = new Disk()
        let set = new KeySet(EMPTY)
        set.replace(A, snapshot(0, []), NOW_MS)
        let rev = 0
        for (const [{ id, op, models }, how] of steps) {
          rev++
          let event: KeyPut | KeyRemoval | null = null
          if (op === 'put' && !revoked.has(id)) {
            const row = { ...fleetKey(id, rev, models === undefined ? {} : { models }).row }
            const body = { ...row, sha256: hashes.get(id) ?? row.sha256 }
            hashes.set(id, body.sha256)
            hub.set(id, body)
            event = put(body)
          } else if (op === 'del') {
            hub.delete(id)
            revoked.add(id)
            event = revoke(rev, id)
          } else if (op === 'take') {
            hub.delete(id)
            event = remove(rev, id)
          }
          if (how === 'snapshot') set.replace(A, snapshot(rev, [...hub.values()], [...revoked]), NOW_MS)
          else if (event === null) set.advance(rev)
          else set.change(event, NOW_MS)
          if (how === 'twice' && event !== null && set.change(event, NOW_MS)) return false
          if (how === 'failure') set.giveBack(set.takeChanges())
          if (how !== 'restart') continue
          disk.write(set.takeChanges())
          set = new KeySet(disk.read(set))
        }
        const accepted = set.accepted().map((key) => key.id)
        return (
          String(set.stateHash) === stateHashOf(hub.values()) &&
          accepted.sort().join() === [...hub.keys()].sort().join() &&
          [...revoked].every((id) => set.find(hashes.get(id) ?? '') === undefined)
        )
      }),
      { numRuns: 300 },
    )
  },
)

t.test('tombstones are bounded: beyond the limit the oldest is forgotten', async (t) => {
  const tombstones = Array.from({ length: MAXIMUM_TOMBSTONES }, (_, n) => [`old-${n}`, n] as const)
  const set = new KeySet({ ...EMPTY, tombstones })
  const { row } = fleetKey('old-0', 2)
  set.replace(A, snapshot(1, [], ['new']), NOW_MS)
  const changes = set.takeChanges()
  t.same(changes.buried, [['new', NOW_MS]])
  t.same(changes.forgotten, ['old-0'])
  set.change(put(row), NOW_MS)
  t.ok(set.find(row.sha256))
})
