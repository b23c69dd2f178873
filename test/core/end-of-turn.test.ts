// What the calls of one turn of the event loop do together.

import t from 'tap'
import { endOfTurn } from '../../src/core/steps.ts'

t.test('all that wait in one turn go on together, in their order', async (t) => {
  const seen: string[] = []
  const call = async (name: string) => {
    await endOfTurn()
    seen.push(`${name} first`)
    await null
    seen.push(`${name} then`)
  }
  const calls = [call('a'), call('b')]
  process.nextTick(() => calls.push(call('c')))
  await null
  t.same(seen, [], 'nobody goes on while the turn still brings something in')
  await endOfTurn()
  await Promise.all(calls)
  t.same(seen, ['a first', 'b first', 'c first', 'a then', 'b then', 'c then'])
})

t.test('a turn has its own end', async (t) => {
  const first = endOfTurn()
  t.equal(endOfTurn(), first)
  await first
  t.not(endOfTurn(), first)
})
