import t from 'tap'
import { judge, medianOfBest, shuffled } from './verdict.ts'

/** Returns the given numbers one after the other. */
const sequence =
  (...numbers: number[]) =>
  () =>
    numbers.shift() ?? 0

t.test('the best round of each process counts, and of the processes the median', async (t) => {
  t.equal(
    medianOfBest([
      [9, 5, 7],
      [3, 8, 8],
      [6, 4, 9],
    ]),
    4,
  )
  t.equal(
    medianOfBest([
      [2, 3],
      [4, 5],
    ]),
    3,
  )
})

t.test('equal builds are within tolerance', async (t) => {
  const rounds = [
    [100, 110, 105],
    [101, 109, 105],
    [99, 111, 105],
  ]
  t.match(judge(rounds, rounds), { ratio: 1, ratioOfBest: 1, withinTolerance: true })
})

t.test('a build that takes a tenth more is not within tolerance', async (t) => {
  const { ratio, spread, withinTolerance } = judge([[110], [110], [110]], [[100], [100], [100]])
  t.equal(ratio.toFixed(6), '1.100000')
  t.same(
    spread.map((value) => value.toFixed(6)),
    ['1.100000', '1.100000'],
  )
  t.notOk(withinTolerance)
})

t.test('the spread is that of all pairs of processes', async (t) => {
  const { spread } = judge([[99], [102]], [[100], [96]])
  t.same(
    spread.map((value) => value.toFixed(4)),
    [(99 / 100).toFixed(4), (102 / 96).toFixed(4)],
  )
})

t.test('a slow round of the machine does not change the ratio', async (t) => {
  const { ratio } = judge(
    [
      [104, 208, 104],
      [104, 208, 104],
    ],
    [
      [100, 200, 100],
      [100, 200, 100],
    ],
  )
  t.equal(ratio.toFixed(6), '1.040000')
})

t.test('one disturbed round of a process does not change the ratio', async (t) => {
  const { ratio } = judge(
    [
      [100, 900, 100],
      [100, 100, 100],
    ],
    [
      [100, 100, 100],
      [100, 100, 100],
    ],
  )
  t.equal(ratio, 1)
})

t.test('one slow process among three does not change the ratio', async (t) => {
  const { ratio } = judge([[100], [100], [130]], [[100], [100], [100]])
  t.equal(ratio, 1)
})

t.test('a shuffle keeps all items and leaves its argument alone', async (t) => {
  const items = [1, 2, 3, 4]
  t.same(shuffled(items, sequence(0.9, 0, 0)), [2, 3, 1, 4])
  t.same(shuffled(items, sequence(0.99, 0.99, 0.99)), items)
  t.same(items, [1, 2, 3, 4])
})
