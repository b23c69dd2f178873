import t from 'tap'
import { Budget } from '../../src/core/budget.ts'
import { AdmissionControl, MAXIMUM_REFUSED } from '../../src/pipeline/call/admission.ts'
import type { Client } from '../../src/pipeline/call/client.ts'

const UNBOUNDED = new Budget(Number.POSITIVE_INFINITY)

/** Fields to match in an error. */
const like = (fields: object) => fields as Error

/** A client with the members that admission uses. */
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

t.test('a place is released when the client has taken the answer, not when the call is sealed', async (t) => {
  const admission = new AdmissionControl(2, UNBOUNDED, () => null)
  const [a, b, c] = [caller(), caller(), caller()]
  const seat = admission.enter(a.client)
  admission.enter(b.client)
  t.same([admission.running, admission.inFlight], [2, 2])
  const first = admission.enter(c.client)
  t.match(first.refusal, { code: 'overloaded', ...retry })
  t.same([admission.running, admission.inFlight], [3, 2], 'it has an entry to make, and takes no room')
  admission.leave(first)
  admission.leave(seat)
  t.same([admission.running, admission.inFlight], [1, 2])
  const second = admission.enter(c.client)
  t.match(second.refusal, { code: 'overloaded' }, 'its answer is still in memory')
  admission.leave(second)
  a.deliver()
  t.same([admission.running, admission.inFlight], [1, 1])
  t.equal(admission.enter(c.client).refusal, null)
  t.same([admission.running, admission.inFlight, admission.entered], [2, 2, 3])
})

t.test('a bounded number of refused calls waits for its answer', async (t) => {
  const admission = new AdmissionControl(1, UNBOUNDED, () => null)
  admission.enter(caller().client)
  const seats = Array.from({ length: MAXIMUM_REFUSED }, () => admission.enter(caller().client))
  t.throws(() => admission.enter(caller().client), like({ code: 'overloaded', ...retry }))
  for (const seat of seats.slice(0, 1)) admission.leave(seat)
  t.match(admission.enter(caller().client).refusal, { code: 'overloaded' })
})

t.test('no call is admitted that cannot be logged', async (t) => {
  let available = false
  const admission = new AdmissionControl(1, UNBOUNDED, () => (available ? null : 'full'))
  t.throws(() => admission.assertAuditable(), like({ code: 'audit_unavailable', ...retry }))
  available = true
  t.doesNotThrow(() => admission.assertAuditable())
})

t.test('bodies take no more than the memory budget until their calls end', async (t) => {
  const admission = new AdmissionControl(9, new Budget(100), () => null)
  const [a, b] = [admission.enter(caller().client), admission.enter(caller().client)]
  admission.keep(a, 40)
  admission.keep(a, 40)
  t.throws(() => admission.keep(b, 30), like({ code: 'overloaded', ...retry }))
  admission.keep(b, 20)
  admission.leave(a)
  const c = admission.enter(caller().client)
  admission.keep(c, 80)
  t.throws(() => admission.keep(c, 1), like({ code: 'overloaded' }))
})

t.test('draining admits no call and ends when the last call is sealed', async (t) => {
  const admission = new AdmissionControl(5, UNBOUNDED, () => null)
  const [a, b] = [caller(), caller()]
  const seats = [admission.enter(a.client), admission.enter(b.client)] as const
  t.notOk(admission.draining)
  let over = false
  const drained = admission.drain().then(() => (over = true))
  t.ok(admission.draining)
  const late = admission.enter(caller().client)
  t.match(late.refusal, { code: 'draining', ...retry })
  admission.leave(seats[0])
  admission.leave(seats[1])
  await Promise.resolve()
  t.notOk(over, 'one that came late has its entry to make')
  admission.leave(late)
  await drained
  t.equal(admission.inFlight, 2, 'whose answers are still being taken')
})

t.test('draining without calls ends at once', async (t) => {
  await t.resolves(new AdmissionControl(1, UNBOUNDED, () => null).drain())
})

t.test('interrupting running calls spares those that only wait for their client', async (t) => {
  const admission = new AdmissionControl(5, UNBOUNDED, () => null)
  const [running, taking] = [caller(), caller()]
  admission.enter(running.client)
  admission.leave(admission.enter(taking.client))
  admission.interruptAll()
  t.same([running.state.interrupted, taking.state.interrupted], [1, 0])
})
