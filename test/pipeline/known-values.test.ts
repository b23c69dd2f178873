// Values of earlier texts in a text of the assistant: which are added, and at what cost.

import t from 'tap'
import { DEFAULT_KINDS } from '../../src/detect/pii/kinds.ts'
import { addKnownValues } from '../../src/pipeline/prompt/known-values.ts'
import { type InspectedText, settleText } from '../../src/pipeline/prompt/numbering.ts'
import { rule } from '../policy/rules.ts'
import { selectRules } from './fixture.ts'

/** Values of numbers, which are not found without a word. */
const VALUES = ['533401234', '943476', '943476 5919', 'A5334012']
/** Reads of a place for each finding that a text has. */
const MAXIMUM_READS = 64

const selection = selectRules([rule('back', '*', { type: 'pii', action: 'restore' })])

/** A text with values at some places, and how often their places are read. */
function textWith(part: 'user' | 'assistant', view: string, values: readonly string[]) {
  const count = { reads: 0 }
  const found = values.map((value) => {
    const start = view.indexOf(value)
    return {
      ...{ kind: 'passport', end: start + value.length, source: 'detector' as const },
      decision: selection.pii('passport', part),
      get start() {
        count.reads++
        return start
      },
    }
  })
  const item = { part, view, found, replacements: [] } as unknown as InspectedText
  settleText(item)
  count.reads = 0
  return { item, count }
}

/** Adds the values of a user to a text. @returns the number of steps */
function add(values: readonly string[], item: InspectedText): number {
  const { item: user } = textWith('user', values.join(' '), values)
  return [...addKnownValues([user, item], DEFAULT_KINDS, selection)].length + 1
}

const added = ({ replacements }: InspectedText): string[] =>
  replacements.map(({ finding: { start }, value }) => `${start} ${value}`)

t.test('a value is added where it is a word, the one that was found first', async (t) => {
  for (const [view, wanted] of [
    ['It is 533401234.', ['6 533401234']],
    ['It is 5334012345, x533401234.', []],
    ['943476 5919, then 943476', ['0 943476', '18 943476']],
    ['A5334012 (533401234)', ['0 A5334012', '10 533401234']],
  ] as const) {
    const { item } = textWith('assistant', view, [])
    add(VALUES, item)
    t.strictSame(added(item), wanted, view)
  }
})

t.test('a value replaces what it contains, and no longer one', async (t) => {
  const { item: inside } = textWith('assistant', 'To 533401234 now', ['3401'])
  add(VALUES, inside)
  t.strictSame(added(inside), ['3 533401234'])
  const { item: around } = textWith('assistant', 'To 533401234 now', ['533401234 now'])
  add(VALUES, around)
  t.strictSame(added(around), ['3 533401234 now'])
})

t.test('the work is linear in the values of a text, and is done in steps', async (t) => {
  const count = 4096
  const found = Array.from({ length: count }, (_, index) => `ab${10_000 + index}`)
  const { item, count: counted } = textWith(
    'assistant',
    found.map((one) => `${one} 533401234`).join(' '),
    found,
  )
  const steps = add(VALUES, item)
  t.equal(item.replacements.length, 2 * count)
  t.ok(counted.reads <= MAXIMUM_READS * count, `${counted.reads} reads of the places of ${count} findings`)
  t.ok(steps >= count / 1024, `${steps} steps`)
  const others = Array.from({ length: count }, (_, index) => `5334 ${10_000 + index}`)
  t.ok(add(others, textWith('assistant', '', []).item) >= count / 1024, 'values are judged in steps')
})
