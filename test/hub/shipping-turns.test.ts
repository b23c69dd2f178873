// Which bodies of sidecars are read, which wait, and which are refused.

import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import type { Timers } from '../../src/core/timers.ts'
import { ShippingTurns } from '../../src/hub/shipping-turns.ts'

/** Timers that fire when the test says so. */
function manualTimers() {
  const pending = new Set<() => void>()
  const timers: Timers = {
    set: (callback) => {
      pending.add(callback)
      return callback
    },
    clear: (timer) => pending.delete(timer as () => void),
  }
  const fire = () => {
    for (const callback of [...pending]) callback()
  }
  return { timers, fire }
}

/** Asks for turns, and notes who has one. */
function asking(turns: ShippingTurns) {
  const has = new Map<string, () => void>()
  const refused: string[] = []
  const ask = (sidecar: string, isLong = false) =>
    turns.take(sidecar, isLong).then(
      (end) => has.set(sidecar, end),
      (error: { code: string }) => refused.push(`${sidecar} ${error.code}`),
    )
  return { has, refused, ask: (...asked: Parameters<typeof ask>) => void ask(...asked) }
}

t.test('four bodies are read at a time, one of them long, in the order in which they came', async (t) => {
  const { has, ask } = asking(new ShippingTurns(manualTimers().timers))
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) ask(name)
  await nextTurn()
  t.strictSame([...has.keys()], ['a', 'b', 'c', 'd'])
  has.get('b')!()
  await nextTurn()
  t.strictSame([...has.keys()], ['a', 'b', 'c', 'd', 'e'])
  for (const name of ['a', 'c', 'd', 'e']) has.get(name)!()
  for (const name of ['x', 'y']) ask(name, true)
  await nextTurn()
  t.ok(has.has('x'))
  t.notOk(has.has('y'), 'two long bodies are not read at a time')
  has.get('x')!()
  await nextTurn()
  t.ok(has.has('y'))
})

t.test('a sidecar has four requests, and all together a maximum', async (t) => {
  const { refused, ask } = asking(new ShippingTurns(manualTimers().timers))
  for (let time = 0; time < 5; time++) ask('a')
  await nextTurn()
  t.strictSame(refused, ['a overloaded'])
  for (let count = 0; count < 1997; count++) ask(`s${count}`)
  await nextTurn()
  t.strictSame(refused, ['a overloaded', 's1996 overloaded'])
})

t.test('one that waits too long is refused, and its turn goes to the next', async (t) => {
  const { timers, fire } = manualTimers()
  const turns = new ShippingTurns(timers)
  const { has, refused, ask } = asking(turns)
  for (const name of ['a', 'b', 'c', 'd', 'late']) ask(name)
  await nextTurn()
  fire()
  await nextTurn()
  t.strictSame(refused, ['late overloaded'])
  ask('next')
  has.get('a')!()
  await nextTurn()
  t.ok(has.has('next'))
})
