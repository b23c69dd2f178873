// As many values as a call may hold have as many pseudonyms.

import t from 'tap'
import { MAXIMUM_FINDINGS } from '../../src/pipeline/prompt/prompt-values.ts'
import { Pseudonyms } from '../../src/pipeline/scan/pseudonyms.ts'

/** With this key and `FIRST`, two of the values have the same eight characters as another one. */
const KEY = 'the key of pseudonyms in tests 5'
const FIRST = 1_330_000
const OF_ANOTHER = 675_940

t.test('two of the values of a call never share a pseudonym', async (t) => {
  const numbers = [OF_ANOTHER, ...Array.from({ length: MAXIMUM_FINDINGS - 1 }, (_, index) => FIRST + index)]
  const values = numbers.map((number) => `user${number}@example.com`)
  const names = new Pseudonyms(() => KEY)
  for (const value of values) names.expect('email', value)
  const forms = new Set(values.map((value) => names.for('email', value)))
  t.equal(forms.size, MAXIMUM_FINDINGS)
  const longer = [...forms].filter((form) => /^\[EMAIL_\w{16}\]$/.test(form))
  t.equal(longer.length, 4, 'both values of both pairs')
})
