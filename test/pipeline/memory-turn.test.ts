import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { STEP_UNITS } from '../../src/core/steps.ts'
import { ScanMemory, scanWeight, waitToScan } from '../../src/pipeline/prompt/memory-turn.ts'

const body = (unit: string, bytes: number): Buffer =>
  Buffer.from(JSON.stringify({ content: unit.repeat(Math.ceil(bytes / unit.length)) }))
const LONG = 4 * STEP_UNITS
const PROSE = body('The plan that the team agreed on. ', LONG)
const CARDS = body('4111111111111111 ', LONG)
const turn = (size: number) => ({
  searches: new ScanMemory(size, Number.POSITIVE_INFINITY),
  clock: systemClock,
})

t.test('digits weigh more than other text of the same length', async (t) => {
  const prose = (await scanWeight(turn(LONG), PROSE))!
  const cards = (await scanWeight(turn(LONG), CARDS))!
  t.equal(prose, PROSE.length)
  t.ok(cards > 7 * prose && cards < 8 * prose, `${cards} and ${prose}`)
})

t.test('numbers are scanned one body at a time where prose is scanned by several', async (t) => {
  const prose = turn(4 * LONG)
  const releases = [await waitToScan(prose, PROSE), await waitToScan(prose, PROSE)]
  t.equal(releases.length, 2)
  const numbers = turn(4 * LONG)
  await waitToScan(numbers, CARDS)
  await t.rejects(waitToScan(numbers, CARDS, 5), { code: 'overloaded' })
})

t.test('a prompt that would wait longer is refused with 503, and the next one in time is not', async (t) => {
  const busy = turn(LONG)
  const release = await waitToScan(busy, PROSE)
  await t.rejects(waitToScan(busy, PROSE, 5), {
    code: 'overloaded',
    status: 503,
    headers: { 'retry-after': '1' },
  })
  const next = waitToScan(busy, PROSE, 60_000)
  release()
  const releaseNext = await next
  releaseNext()
  t.ok(busy.searches.take(LONG), 'nothing is taken')
})

t.test('an answer is scanned before the prompts that wait', async (t) => {
  const busy = turn(LONG)
  const order: string[] = []
  const release = await waitToScan(busy, PROSE)
  const note = (name: string) => (free: () => void) => {
    order.push(name)
    free()
  }
  const prompt = busy.searches.waitForPrompt(LONG, 60_000).then((free) => note('prompt')(free!))
  const answer = busy.searches.waitForAnswer(LONG).then(note('answer'))
  release()
  await Promise.all([prompt, answer])
  t.same(order, ['answer', 'prompt'])
})
