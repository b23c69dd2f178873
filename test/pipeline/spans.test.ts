import fc from 'fast-check'
import t from 'tap'
import { JsonTextDecoder } from '../../src/chat/inner-json/json-text.ts'
import type { Finding } from '../../src/core/finding.ts'
import {
  plainSpan,
  rawOf,
  rawRanges,
  replaceFindings,
  TextSpanQueue,
  viewOf,
} from '../../src/pipeline/scan/spans.ts'

const finding = (start: number, end: number): Finding => ({ kind: 'email', start, end })
const mark = (_finding: Finding, value: string) => `<${value}>`

t.test('replaces findings in plain text', async (t) => {
  const cases: [string, [number, number][], string][] = [
    ['abcdef', [], 'abcdef'],
    ['abcdef', [[0, 2]], '<ab>cdef'],
    ['abcdef', [[4, 6]], 'abcd<ef>'],
    ['abcdef', [[0, 6]], '<abcdef>'],
    [
      'abcdef',
      [
        [1, 2],
        [2, 4],
      ],
      'a<b><cd>ef',
    ],
  ]
  for (const [text, spans, expected] of cases) {
    const findings = spans.map(([start, end]) => finding(start, end))
    t.equal(rawOf(replaceFindings([plainSpan(text)], 0, findings, mark)), expected)
  }
})

t.test('a replacement in JSON text keeps it valid', async (t) => {
  // {"a":"x\u0040y","n":4111}
  const spans = [
    { kind: 'structure', view: '{"', raw: '{"', level: 0 },
    { kind: 'text', view: 'a', raw: 'a', level: 0 },
    { kind: 'structure', view: '":"', raw: '":"', level: 0 },
    { kind: 'text', view: 'x', raw: 'x', level: 0 },
    { kind: 'atom', view: '@', raw: '\\u0040', level: 0 },
    { kind: 'text', view: 'y', raw: 'y', level: 0 },
    { kind: 'structure', view: '","', raw: '","', level: 0 },
    { kind: 'text', view: 'n', raw: 'n', level: 0 },
    { kind: 'structure', view: '":', raw: '":', level: 0 },
    { kind: 'number', view: '4111', raw: '4111', level: 0 },
    { kind: 'structure', view: '}', raw: '}', level: 0 },
  ] as const
  const view = viewOf(spans)
  const email = finding(view.indexOf('x@y'), view.indexOf('x@y') + 3)
  const number = finding(view.indexOf('4111'), view.indexOf('4111') + 4)
  const replaced = rawOf(replaceFindings(spans, 0, [email, number], (one) => (one === email ? '[E]' : '[N]')))
  t.same(JSON.parse(replaced), { a: '[E]', n: '[N]' })
  const across = finding(view.indexOf('y","'), view.indexOf('4111') + 2)
  t.same(Object.values(JSON.parse(rawOf(replaceFindings(spans, 0, [across], () => '[A]')))), ['x@[A]', ''])
})

t.test('a queue returns its spans, cut at the offset', async () => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.array(fc.nat(40)), (texts, cuts) => {
      const queue = new TextSpanQueue()
      for (const text of texts) queue.push(plainSpan(text))
      const whole = texts.join('')
      let taken = ''
      for (const cut of cuts.toSorted((a, b) => a - b)) {
        taken += rawOf(queue.takeUntil(cut))
        if (taken !== whole.slice(0, Math.max(taken.length, Math.min(cut, whole.length)))) return false
        if (queue.start !== taken.length) return false
      }
      return taken + rawOf(queue.takeUntil(Number.POSITIVE_INFINITY)) === whole
    }),
  )
})

t.test('taking from the front of a long queue costs what it returns', async (t) => {
  const queue = new TextSpanQueue()
  const count = 300_000
  for (let i = 0; i < count; i++) queue.push(plainSpan('ab'))
  let taken = 0
  // Moving the rest for each taken span would be 10^11 moves.
  for (let at = 1; at <= 2 * count; at += 1) taken += viewOf(queue.takeUntil(at)).length
  t.equal(taken, 2 * count)
})

t.test('spans other than text are never cut', async (t) => {
  const queue = new TextSpanQueue()
  queue.push({ kind: 'atom', view: '😀', raw: '\\ud83d\\ude00', level: 0 })
  queue.push(plainSpan('abc'))
  t.equal(rawOf(queue.takeUntil(1)), '\\ud83d\\ude00')
  t.equal(queue.start, 2)
  t.equal(rawOf(queue.takeUntil(3)), 'a')
})

t.test('view offsets map to raw offsets', async (t) => {
  const strings = fc.array(fc.constantFrom('a@b.co', 'é', '"', '\\', '\n', '😀', 'x', ' ', '12'), {
    maxLength: 12,
  })
  const inAscii = (text: string) =>
    JSON.stringify(text).replace(/[é😀]/gu, (character) =>
      [...Array(character.length).keys()]
        .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`)
        .join(''),
    )
  fc.assert(
    fc.property(strings, fc.nat(), fc.nat(), (parts, first, count) => {
      const json = `{"q":${inAscii(parts.join(''))},"n":4111}`
      const decoder = new JsonTextDecoder()
      const spans = [...decoder.push(json), ...decoder.finish()]
      const before = parts.slice(0, first % (parts.length + 1)).join('')
      const said = parts
        .slice(first % (parts.length + 1))
        .slice(0, 1 + (count % 3))
        .join('')
      if (said === '') return
      const start = '{"q":"'.length + before.length
      const [span] = rawRanges(spans, [{ start, end: start + said.length }])
      t.equal(JSON.parse(`"${json.slice(span?.start, span?.end)}"`), said)
    }),
    { numRuns: 200 },
  )
  const spans = [
    { start: 1, end: 2 },
    { start: 4, end: 6 },
  ]
  t.same(rawRanges([plainSpan('abc'), plainSpan('def')], spans), spans)
})

t.test('a replaced number is a JSON string of several spans', async (t) => {
  const number = { kind: 'number', view: '4111', raw: '4111', level: 0 } as const
  const spans = replaceFindings([number], 0, [finding(0, 4)], () => '[CARD_1]')
  t.equal(rawOf(spans), '"[CARD_1]"')
  const queue = new TextSpanQueue()
  for (const span of spans) queue.push(span)
  t.equal(rawOf(queue.takeUntil(4)) + rawOf(queue.takeUntil(99)), '"[CARD_1]"')
})
