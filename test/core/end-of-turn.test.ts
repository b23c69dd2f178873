import t from 'tap'
import { endOfTurn } from '../../src/core/steps.ts'

t.test('callers that wait in one turn continue together, in order', async (t) => {
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
  t.same(seen, [], 'not before the I/O of the turn is read')
  await endOfTurn()
  await Promise.all(calls)
  t.same(seen, ['a first', 'b first', 'c first', 'a then', 'b then', 'c then'])
})

t.test('each turn has its own promise', async (t) => {
  const first = endOfTurn()
  t.equal(endOfTurn(), first)
  await first
  t.not(endOfTurn(), first)
})
