import fc from 'fast-check'
import t from 'tap'
import { Placeholders } from '../../src/pipeline/scan/placeholders.ts'

t.test('numbers values in order, equal values alike', async (t) => {
  const numbers = new Placeholders()
  t.equal(numbers.for('email', 'a@b.co'), '[EMAIL_1]')
  t.equal(numbers.for('email', 'c@d.co'), '[EMAIL_2]')
  t.equal(numbers.for('email', 'A@B.CO'), '[EMAIL_1]')
  t.equal(numbers.for('credit_card', '4111 1111 1111 1111'), '[CREDIT_CARD_1]')
  t.equal(numbers.for('credit_card', '4111-1111-1111-1111'), '[CREDIT_CARD_1]')
  t.equal(numbers.for('secret', 'abc'), '[SECRET_1]')
  t.equal(numbers.for('secret', 'ABC'), '[SECRET_2]')
})

t.test(
  'open kinds have placeholders, whose forms in texts count as those of built-in kinds do',
  async (t) => {
    const numbers = new Placeholders(null, {}, false, new Set(['CASE_NUMBER']))
    numbers.avoid('see [CASE_NUMBER_1] and [OTHER_1]')
    t.equal(numbers.for('case_number', 'CASE-1'), '[CASE_NUMBER_2]')
    t.equal(numbers.for('case_number', 'case-1'), '[CASE_NUMBER_3]', 'to be restored as it was')
    t.equal(numbers.for('case_number', 'CASE%2D1'), '[CASE_NUMBER_2]', 'an escape is no spelling')
    t.same(numbers.highest, { CASE_NUMBER: 3 }, 'words in brackets that no kind has are not counted')
  },
)

t.test('never gives out a form that a text contains', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 12 })),
      fc.integer({ min: 1, max: 12 }),
      (taken, count) => {
        const numbers = new Placeholders()
        const text = taken.map((number) => `see [EMAIL_${number}]`).join(' ')
        numbers.avoid(text)
        const given = Array.from({ length: count }, (_, i) => numbers.for('email', `x${i}@y.co`))
        return new Set(given).size === count && given.every((form) => !text.includes(form))
      },
    ),
  )
})

t.test('a fork knows given placeholders and numbers new values alone', async (t) => {
  const request = new Placeholders()
  request.for('email', 'a@b.co')
  const [one, two] = [request.fork(), request.fork()]
  t.equal(one.for('email', 'a@b.co'), '[EMAIL_1]')
  t.equal(one.for('email', 'x@y.co'), '[EMAIL_2]')
  t.equal(two.for('email', 'z@y.co'), '[EMAIL_2]')
  t.equal(request.for('email', 'later@y.co'), '[EMAIL_2]')
})

t.test('taken forms are passed once for all forks', async (t) => {
  const numbers = new Placeholders()
  const taken = 200_000
  numbers.avoid(Array.from({ length: taken }, (_, index) => `[EMAIL_${index + 1}]`).join(''))
  // If each fork tried each form, it would be 10^9 steps.
  for (let index = 0; index < 5000; index++) {
    const fork = numbers.fork()
    t.equal(
      fork.for('email', 'a@b.co') + fork.for('email', 'c@d.co'),
      `[EMAIL_${taken + 1}][EMAIL_${taken + 2}]`,
    )
  }
  numbers.avoid(`[EMAIL_${taken + 1}]`)
  t.equal(numbers.fork().for('email', 'a@b.co'), `[EMAIL_${taken + 2}]`, 'also one that was met later')
})

t.test('a follow-up call numbers above everything that was given or found, in forks too', async (t) => {
  const kinds = ['email', 'phone'] as const
  const value = fc.record({ kind: fc.constantFrom(...kinds), value: fc.string({ minLength: 1 }) })
  fc.assert(
    fc.property(
      fc.array(value),
      fc.array(fc.array(value), { maxLength: 3 }),
      fc.array(fc.integer({ min: 1, max: 20 })),
      fc.array(value, { minLength: 1 }),
      (asked, answered, taken, next) => {
        const first = new Placeholders()
        const text = taken.map((number) => `[EMAIL_${number}]`).join(' ')
        first.avoid(text)
        const forms = [
          ...asked.map((one) => first.for(one.kind, one.value)),
          ...answered.flatMap((part) => {
            const fork = first.fork()
            return part.map((one) => fork.for(one.kind, one.value))
          }),
        ]
        const second = new Placeholders(null, first.highest)
        const given = next.map((one) => second.for(one.kind, one.value))
        return given.every((form) => !forms.includes(form) && !text.includes(form))
      },
    ),
  )
  const numbers = new Placeholders()
  numbers.avoid('[EMAIL_999999999] [EMAIL_12]')
  t.strictSame(numbers.highest, { EMAIL: 12 }, 'a number that no call reaches is not continued')
})
