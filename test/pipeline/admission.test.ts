import t from 'tap'
import { Admission } from '../../src/pipeline/admission.ts'
import type { Client } from '../../src/pipeline/client.ts'

/** Fields an error must have. */
const like = (fields: object) => fields as Error

/** A client of which only what admission sees exists. */
function caller() {
  const listeners: (() => void)[] = []
  const state = { interrupted: 0 }
  const client = {
    interrupt: () => state.interrupted++,
    onDelivered: (listener: () => void) => listeners.push(listener),
  } as unknown as Client
  return {
    client,
    state,
    deliver: () => {
      for (const listener of listeners) listener()
    },
  }
}

const retry = { headers: { 'retry-after': '1' } }

t.test('room is given back when the answer has been taken, not when the call is sealed', async (t) => {
  const admission = new Admission(2, () => true)
  const [a, b, c] = [caller(), caller(), caller()]
  const place = admission.enter(a.client)
  admission.enter(b.client)
  t.same([admission.running, admission.inFlight], [2, 2])
  t.throws(() => admission.enter(c.client), like({ code: 'overloaded', ...retry }))
  admission.leave(place)
  t.same([admission.running, admission.inFlight], [1, 2])
  t.throws(() => admission.enter(c.client), like({ code: 'overloaded' }), 'its answer is still in memory')
  a.deliver()
  t.same([admission.running, admission.inFlight], [1, 1])
  admission.enter(c.client)
  t.same([admission.running, admission.inFlight], [2, 2])
})

t.test('nothing is taken on that could not be logged', async (t) => {
  let available = false
  const admission = new Admission(1, () => available)
  t.throws(() => admission.enter(caller().client), like({ code: 'audit_unavailable', ...retry }))
  t.equal(admission.inFlight, 0)
  available = true
  t.doesNotThrow(() => admission.enter(caller().client))
})

t.test('draining: no one in, and over when the last is sealed', async (t) => {
  const admission = new Admission(5, () => true)
  const [a, b] = [caller(), caller()]
  const places = [admission.enter(a.client), admission.enter(b.client)] as const
  t.notOk(admission.draining)
  let over = false
  const drained = admission.drain().then(() => (over = true))
  t.ok(admission.draining)
  t.throws(() => admission.enter(caller().client), like({ code: 'draining', ...retry }))
  admission.leave(places[0])
  await Promise.resolve()
  t.notOk(over)
  admission.leave(places[1])
  await drained
  t.equal(admission.inFlight, 2, 'whose answers are still being taken')
})

t.test('draining with nobody in is over at once', async (t) => {
  await t.resolves(new Admission(1, () => true).drain())
})

t.test('ending what runs spares what is only being taken', async (t) => {
  const admission = new Admission(5, () => true)
  const [running, taking] = [caller(), caller()]
  admission.enter(running.client)
  admission.leave(admission.enter(taking.client))
  admission.interruptAll()
  t.same([running.state.interrupted, taking.state.interrupted], [1, 0])
})
