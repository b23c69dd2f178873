import t from 'tap'
import { parseKinds, parseLimit, parseThreshold } from '../../src/policy/rule-pattern.ts'

const DAY_MS = 86_400_000

t.test('kinds', async (t) => {
  t.same(parseKinds('*'), { value: '*' })
  t.same(parseKinds('email | phone|email'), { value: ['email', 'phone'] })
  t.match(parseKinds('emial'), { message: /`emial` is not a kind.*did you mean `email`\?.*us_ssn/ })
  t.match(parseKinds('*|email'), { message: /stands for every kind/ })
  t.match(parseKinds(''), { message: /must name kinds.*email, phone/ })
  t.match(parseKinds('email|'), { message: /must name kinds/ })
  t.match(parseKinds('x'.repeat(10_000)), { message: /^`x{40}…`/ })
})

const thresholds: [pattern: string, value: number | null | undefined][] = [
  ['', null],
  ['  ', null],
  ['score>=0.70', 0.7],
  ['score >= 1', 1],
  ['score>=1.0', 1],
  ['score>=0', undefined],
  ['score>=1.1', undefined],
  ['score>0.5', undefined],
  ['0.5', undefined],
  ['score>=.5', undefined],
  ['score>=0.7x', undefined],
]
for (const [pattern, value] of thresholds) {
  t.test(`threshold «${pattern}»`, async (t) => {
    t.match(
      parseThreshold(pattern),
      value === undefined ? { message: /must be empty, or a threshold/ } : { value },
    )
  })
}

const limits: [pattern: string, tokens: number, windowMs: number][] = [
  ['60000/1m', 60_000, 60_000],
  ['2M/1d', 2_000_000, DAY_MS],
  ['500k / 90s', 500_000, 90_000],
  ['1/30d', 1, 30 * DAY_MS],
  ['1000000M/1h', 1e12, 3_600_000],
]
for (const [pattern, tokens, windowMs] of limits) {
  t.test(`limit ${pattern}`, async (t) => {
    t.same(parseLimit(pattern), { value: { tokens, windowMs } })
  })
}

const refused: [pattern: string, message: RegExp][] = [
  ['', /must be <tokens>\/<window>/],
  ['60000', /must be <tokens>\/<window>/],
  ['60000/m', /must be <tokens>\/<window>/],
  ['1.5M/1d', /must be <tokens>\/<window>/],
  ['-1/1m', /must be <tokens>\/<window>/],
  ['5K/1m', /must be <tokens>\/<window>/],
  ['0/1m', /tokens must be from 1/],
  ['1000001M/1m', /tokens must be from 1/],
  ['5/0s', /window must be from 1s to 30d/],
  ['5/31d', /window must be from 1s to 30d/],
]
for (const [pattern, message] of refused) {
  t.test(`limit «${pattern}» is refused`, async (t) => {
    t.match(parseLimit(pattern), { message })
  })
}
