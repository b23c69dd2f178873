// Personal data and keywords that are split over adjacent texts.

import fc from 'fast-check'
import t from 'tap'
import { PII_KINDS } from '../../src/core/finding.ts'
import { atOnce } from '../../src/core/steps.ts'
import { kindSet } from '../../src/detect/pii/kinds.ts'
import { findSplitData, joinTexts } from '../../src/pipeline/prompt/prompt-neighbours.ts'

const KINDS = kindSet(PII_KINDS)
const ADDRESS = 'alice@example.com'
const GAP = '\uFFFE'

/** Adjacent texts. */
const row = (...views: string[]) => views.map((view, joined) => ({ view, joined, part: 'user' as const }))

/** The split values found, with the characters of each part. */
const found = (items: readonly ReturnType<typeof row>[number][]) =>
  atOnce(findSplitData(items, KINDS)).map(({ parts }) => ({
    kind: parts[0]?.finding.kind,
    value: parts.map(({ value }) => value).filter((value) => value !== ''),
    parts: parts.map(({ item, finding }) => item.view.slice(finding.start, finding.end)),
  }))

t.test('finds an address with any cut', async (t) => {
  for (let cut = 1; cut < ADDRESS.length; cut++) {
    const parts = [ADDRESS.slice(0, cut), ADDRESS.slice(cut)]
    const [first, ...more] = found(row(`mail ${parts[0]}`, `${parts[1]} today`))
    t.same(more, [])
    t.match(first, { kind: 'email', value: [ADDRESS], parts })
  }
})

t.test('finds a value in three or more texts, across empty ones', async (t) => {
  t.match(found(row('mail alice', '@exam', 'ple.com now')), [{ parts: ['alice', '@exam', 'ple.com'] }])
  t.match(found(row('mail alice', '', '@example.com now')), [{ parts: ['alice', '@example.com'] }])
})

t.test('ignores a value inside one text', async (t) => {
  t.same(found(row(`mail ${ADDRESS} `, ' and wait')), [])
  t.same(found(row(ADDRESS)), [])
  t.same(found([]), [])
})

t.test('does not join texts that are not adjacent', async (t) => {
  const apart = [
    { view: 'mail alice', joined: 0, part: 'user' as const },
    { view: '@example.com', joined: 2, part: 'user' as const },
  ]
  t.same(found(apart), [])
  t.equal(joinTexts(apart, ' '), `mail alice${GAP}@example.com`)
  t.equal(joinTexts(row('a', 'b', 'c'), ' '), 'a b c')
})

t.test('joins both ends of long texts and keeps offsets right', async (t) => {
  const long = 'word '.repeat(2000)
  const items = row('mail alice', `@example.com ${long}mail bob`, '@example.org')
  t.match(found(items), [
    { value: [ADDRESS], parts: ['alice', '@example.com'] },
    { value: ['bob@example.org'], parts: ['bob', '@example.org'] },
  ])
  t.ok(joinTexts(row(long, long, long), '').length < 3 * 2100, 'and the middle does not')
})

t.test('a cut text gives the findings of the whole, in parts', async () => {
  fc.assert(
    fc.property(
      fc.constantFrom(ADDRESS, '4111 1111 1111 1111', '123-45-6789', 'DE89 3704 0044 0532 0130 00'),
      fc.array(fc.nat(30), { minLength: 1, maxLength: 3 }),
      (value, cuts) => {
        const text = `see SSN: ${value} ok`
        const places = [
          0,
          ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b),
          text.length,
        ]
        const items = row(...places.slice(1).map((place, index) => text.slice(places[index], place)))
        const cutInside = places.some((place) => place > 9 && place < 9 + value.length)
        const [first] = found(items)
        return cutInside ? first?.parts.join('') === value && first.value[0] === value : first === undefined
      },
    ),
  )
})

t.test('a break between two texts can replace the blank in a value', async (t) => {
  t.match(found(row('card 4111 1111', '1111 1111 ok')), [
    { kind: 'credit_card', value: ['4111 1111 1111 1111'], parts: ['4111 1111', '1111 1111'] },
  ])
  t.match(found(row('mail alice@exam', 'ple.com')), [{ kind: 'email', value: [ADDRESS] }])
  t.equal(found(row('mail alice@exam', 'ple.com')).length, 1)
  const long = `card 4111 1111${' and so on'.repeat(300)}`
  t.same(found(row(long, `${long} 1111 1111`)), [], 'the middle of a long text is no break')
})
