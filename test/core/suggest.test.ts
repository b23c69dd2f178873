import fc from 'fast-check'
import t from 'tap'
import { nearest } from '../../src/core/suggest.ts'

const KNOWN = ['enabled', 'action', 'pattern', 'us_ssn']

const cases: [word: string, suggestion: string | null][] = [
  ['enabld', 'enabled'],
  ['Enabled', 'enabled'],
  ['actoin', 'action'],
  ['patern', 'pattern'],
  ['usssn', 'us_ssn'],
  ['colour', null],
  ['', null],
  ['x'.repeat(100), null],
]
for (const [word, suggestion] of cases) {
  t.test(`the suggestion for "${word.slice(0, 10)}" is ${suggestion}`, async (t) => {
    t.equal(nearest(word, KNOWN), suggestion)
  })
}

t.test('a known word is suggested for itself and with a letter missing', async () => {
  fc.assert(
    fc.property(fc.constantFrom(...KNOWN), fc.nat(5), (word, at) => {
      const index = at % word.length
      const dropped = word.slice(0, index) + word.slice(index + 1)
      return nearest(word, KNOWN) === word && nearest(dropped, KNOWN) === word
    }),
  )
})
