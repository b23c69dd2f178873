import t from 'tap'
import { judge, medianOfBest, shuffled } from './verdict.ts'

/** Returns the given numbers one after the other. */
const sequence =
  (...numbers: number[]) =>
  () =>
    numbers.shift() ?? 0

const fixed = (values: readonly number[]) => values.map((value) => value.toFixed(4))

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
  const generation = { tree: rounds, revision: rounds }
  t.match(judge([generation, generation]), { ratio: 1, ratioOfBest: 1, withinTolerance: true })
})

t.test('a build that takes a tenth more is not within tolerance', async (t) => {
  const verdict = judge([{ tree: [[110], [110], [110]], revision: [[100], [100], [100]] }])
  t.equal(verdict.ratio.toFixed(6), '1.100000')
  t.same(fixed(verdict.range), ['1.1000', '1.1000'])
  t.notOk(verdict.withinTolerance)
})

t.test('a build that takes three percent less is within tolerance', async (t) => {
  t.ok(judge([{ tree: [[97.1]], revision: [[100]] }]).withinTolerance)
  t.notOk(judge([{ tree: [[96.9]], revision: [[100]] }]).withinTolerance)
})

t.test('the ratio and its spread come from all pairs of a generation', async (t) => {
  const verdict = judge([
    { tree: [[99], [102]], revision: [[100], [96]] },
    { tree: [[210]], revision: [[200]] },
  ])
  const pairs = [99 / 100, 102 / 100, 99 / 96, 210 / 200, 102 / 96]
  t.equal(verdict.ratio.toFixed(4), pairs[2]?.toFixed(4))
  t.same(fixed(verdict.quartiles), fixed([pairs[1]!, pairs[3]!]))
  t.same(fixed(verdict.range), fixed([pairs[0]!, pairs[4]!]))
})

t.test('a slow round of the machine does not change the ratio', async (t) => {
  const tree = [
    [104, 208, 104],
    [104, 208, 104],
  ]
  const revision = [
    [100, 200, 100],
    [100, 200, 100],
  ]
  t.equal(judge([{ tree, revision }]).ratio.toFixed(6), '1.040000')
})

t.test('one disturbed round of a process does not change the ratio', async (t) => {
  const quiet = [100, 100, 100]
  t.equal(judge([{ tree: [[100, 900, 100], quiet], revision: [quiet, quiet] }]).ratio, 1)
})

t.test('one slow process among three does not change the ratio', async (t) => {
  t.equal(judge([{ tree: [[100], [100], [130]], revision: [[100], [100], [100]] }]).ratio, 1)
})

t.test('a shuffle keeps all items and leaves its argument alone', async (t) => {
  const items = [1, 2, 3, 4]
  t.same(shuffled(items, sequence(0.9, 0, 0)), [2, 3, 1, 4])
  t.same(shuffled(items, sequence(0.99, 0.99, 0.99)), items)
  t.same(items, [1, 2, 3, 4])
})
