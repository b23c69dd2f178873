// Checks that skipped numbers are no values. With the kind `address` enabled, every number is
// examined; the findings in the same segments must be equal.

import fc from 'fast-check'
import t from 'tap'
import { DEFAULT_PII_KINDS, type Finding } from '../../../src/core/finding.ts'
import { BIRTH_LABELS } from '../../../src/detect/pii/birthdate.ts'
import { detect } from '../../../src/detect/pii/detect.ts'
import { DOCUMENT_LABELS } from '../../../src/detect/pii/documents.ts'
import { mayHoldEscapes } from '../../../src/detect/pii/encoded-characters.ts'
import { newSearch, scanSegment } from '../../../src/detect/pii/engine/scan.ts'
import { SegmentSearch } from '../../../src/detect/pii/engine/segment.ts'
import { Segmenter } from '../../../src/detect/pii/engine/segmenter.ts'
import { nextTrigger } from '../../../src/detect/pii/engine/trigger.ts'
import { fold } from '../../../src/detect/pii/fold.ts'
import { DEFAULT_KINDS, kindSet } from '../../../src/detect/pii/kinds.ts'
import { PERSONAL_LABELS } from '../../../src/detect/pii/nationalid/nationalid.ts'
import { holdsNoSecret } from '../../../src/detect/pii/secret/secrets.ts'
import { TOKEN_FORMS } from '../../../src/detect/pii/secret/token-forms.ts'
import { mayHoldTable } from '../../../src/detect/pii/table-labels.ts'
import { ContextWords } from '../../../src/detect/pii/words/context.ts'
import { CuePrefilter } from '../../../src/detect/pii/words/cue-prefilter.ts'
import { NAMED } from './labels-data.ts'
import { TEXTS } from './texts-data.ts'

const plain = (marked: string): string => marked.replace(/[«»]/g, '')
const triggerOf = (text: string): number =>
  nextTrigger(fold(text), 0, DEFAULT_KINDS, new ContextWords(fold(text)))

const SKIPPED = [
  'id,created,amount\n100000,2026-10-11,eu-0,12.34,0,1.234\n100001,2026-11-12,eu-1,412.30,11,28.041\n',
  '{"id":10000,"created_at":1763700000,"updated":"2026-11-01T10:00:00Z","ok":false,"score":0.8347234723472342}',
  '  "price": -12.5,\n  "size": 1234.5\n',
  '2026-11-10T00:10:10.100Z INFO [http-nio-8000-exec-0] c.e.s.Controller : took 13 ms status=200 bytes=23423\n',
  '[10:15:30] x12 is utf8, 10px, 1.5s, 99% and v1.2.3-rc.1',
  '"@types/node": "^24.1.0", /** @param a of 3 */ x = y[0] + f(12)',
  'created 1763700000000 in batch 7f3a9c2e',
]

t.test('tables, data, logs and code without values have no trigger', async (t) => {
  for (const text of SKIPPED) t.equal(triggerOf(text), -1, text)
})

t.test('every value has a trigger', async (t) => {
  for (const marked of TEXTS) {
    const text = plain(marked)
    const [first] = detect(text)
    if (first !== undefined) t.ok(triggerOf(text) >= 0 && triggerOf(text) <= first.end, text)
  }
})

const LABELLED = Object.values(NAMED).flat()
const NUMBERS = fc.oneof(
  fc.stringMatching(/^\d{1,5}$/),
  fc.stringMatching(/^\d{1,20}$/),
  fc.stringMatching(/^\d{1,5}\.\d{1,18}$/),
  fc.stringMatching(/^(?:19|20)\d\d-[01]\d-[0-3]\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,6})?Z?)?$/),
  fc.stringMatching(/^[0-9a-f]{2}(?:[:-][0-9a-f]{2}){1,6}$/),
  fc.stringMatching(/^\d{1,2}(?:[.:]\d{1,3}){1,4}$/),
  fc.stringMatching(/^[A-Za-z]{0,3}\d{1,9}[A-Za-z]{0,2}$/),
  fc.stringMatching(/^[0-9a-f]{6,40}$/),
  fc.constantFrom(...[...TEXTS, ...LABELLED].map((text) => /«(.*?)»/.exec(text)?.[1] ?? text)),
  fc.constantFrom(...LABELLED.map(plain)),
)
const BETWEEN = fc.constantFrom(
  ...[
    ',',
    ', ',
    ',"',
    '":',
    '": ',
    '"',
    '\n',
    ' ',
    ' ',
    '-',
    '.',
    ':',
    '/',
    '(',
    ')',
    '[',
    '=',
    ';',
    '_',
    '+',
    '@',
  ],
  ...[
    ' tel ',
    ' ssn ',
    ' card ',
    'dob ',
    '"birth_date":"',
    ' passport ',
    ' nhs ',
    ' cpf ',
    ' geboren ',
    ' id ',
    ' v',
    ' ms ',
  ],
)
const machine = fc
  .array(fc.tuple(NUMBERS, BETWEEN), { minLength: 1, maxLength: 40 })
  .map((parts) => parts.flat().join(''))

/** Scans every segment of a text, cut as usual, and examines every number. */
function everyNumber(whole: string): Finding[] {
  const text = fold(whole)
  const findings: Finding[] = []
  const search = newSearch(text, 0, kindSet([...DEFAULT_PII_KINDS, 'address']), findings)
  const segmenter = new Segmenter(DEFAULT_KINDS)
  for (let start = 0; start < text.length; ) {
    const cut = segmenter.nextCut(text, start, 0)
    const end = cut < 0 ? text.length : cut
    const seen = cut < 0 ? text.length : segmenter.seen
    const last = scanSegment(search, segmenter.bounds(text, start, end, seen))
    start = segmenter.endAfter(end, last)
    search.rewind()
  }
  return findings
}

const pick = (...words: string[]) => fc.constantFrom(...words)
const DAY = fc.stringMatching(/^\d{1,2}$/)
const YEAR = fc.stringMatching(/^(?:19|20)\d\d$/)
const BEFORE_DAY = fc.oneof(DAY, YEAR, fc.stringMatching(/^\d{3,8}$/), NUMBERS)
const JOINT = pick('', ' ', '-', '/', '.', '. ', ':', ', ', ' - ', '(', 'T', 'x', '%')
const MONTH = pick('MAY', 'May', 'mai', 'de mayo de', 'th of May', 'st Dec,', 'Sept.', 'август')
/** Texts with a date by the name of its month, directly after other numbers. */
const dated = fc
  .tuple(
    pick('', 'born ', 'dob: ', 'x '),
    fc.array(fc.tuple(BEFORE_DAY, JOINT), { maxLength: 4 }),
    fc.tuple(DAY, JOINT, MONTH, JOINT, YEAR),
    pick('', ' geboren', '-geboren', ' (geb.)', ' y'),
    fc.array(fc.tuple(JOINT, BEFORE_DAY), { maxLength: 2 }),
  )
  .map((parts) => parts.flat(2).join(''))

const INTRODUCTION = pick(
  ...['password ', 'password: ', '\npassword = ', '--password ', 'the password is ', '{"password":"', 'pwd='],
  ...[
    "secret='",
    'x token: "',
    '<password>',
    'db.example.net:5432:app:svc:',
    'curl -u svc:',
    'redis-cli -a ',
  ],
  ...['mysql -u svc -p', 'https://svc:'],
)
const SIGN = pick(...'!#$%^*&+?~@-_.:/=,;()', '')
const PART = fc.oneof(NUMBERS, fc.stringMatching(/^\d{1,9}$/), fc.stringMatching(/^[A-Za-z0-9]{1,8}$/))
/** Texts with a password of numbers, words and signs. */
const introduced = fc
  .tuple(
    pick('', 'x ', '12 '),
    INTRODUCTION,
    fc.array(fc.tuple(PART, SIGN), { minLength: 1, maxLength: 6 }),
    pick('', ' x', '" ', '@db.example.net/x', '</password>', '\n'),
  )
  .map((parts) => parts.flat(2).join(''))

t.test('no skipped number is a value', async (t) => {
  fc.assert(
    fc.property(fc.oneof(machine, dated, introduced), (text) => {
      fc.pre(!mayHoldEscapes(text) && !mayHoldTable(text))
      const findings = everyNumber(text)
      fc.pre(findings.every(({ kind }) => kind !== 'address'))
      t.same(detect(text), findings, text)
      return true
    }),
    {
      numRuns: 3000,
      examples: [
        ['"birth_date":"7feb27e1b8ac800;ce:b2'],
        ['2032-02-10.12-MAY-1990 geboren'],
        ['db.example.net:5432:app:svc:12%kJqx.81-gQ'],
        ['https://svc:QfyQ*@db.example.net/x'],
        ['redis-cli -a 811763349#ngg*'],
      ],
    },
  )
})

t.test('the cue prefilter passes every text that a pattern matches', async (t) => {
  const sources = [BIRTH_LABELS, DOCUMENT_LABELS, PERSONAL_LABELS]
  const cuePrefilter = new CuePrefilter(sources)
  const patterns = sources.map((source) => new RegExp(source, 'i'))
  const pieces = sources
    .flatMap((source) => source.split(/[|()?:[\]{}\\^$*+]+/))
    .filter((piece) => piece !== '')
  const marks = fc.constantFrom('', '', ' ', '.', '-', "'", 'e', 'i', 'a')
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...pieces), marks), { maxLength: 4 }), (parts) => {
      const text = parts.flat().join('')
      return cuePrefilter.mayMatch(text, 0, text.length) || !patterns.some((pattern) => pattern.test(text))
    }),
    { numRuns: 5000 },
  )
  t.notOk(cuePrefilter.mayMatch(',"created_at":', 0, 14))
})

/** Notations of a label in code and tables. */
const STYLES: readonly ((text: string) => string)[] = [
  (text) => text.replace(/(?<=\p{L}) (?=\p{L})/gu, '_'),
  (text) => text.replace(/(?<=\p{L}) (?=\p{L})/gu, '-'),
  (text) => text.replace(/(?<=\p{L}) (\p{L})/gu, (_, letter: string) => letter.toUpperCase()),
  (text) => text.toUpperCase(),
  (text) => `user_${text}`,
  (text) => `user${text.charAt(0).toUpperCase()}${text.slice(1)}`,
]

t.test('the prefilters for labels lose no finding, in any notation of the label', async (t) => {
  const texts = TEXTS.map(plain).flatMap((text) => [text, ...STYLES.map((style) => style(text))])
  const filtered = texts.map((text) => detect(text))
  t.intercept(SegmentSearch.prototype, 'mentions', { value: () => true })
  t.intercept(CuePrefilter.prototype, 'mayMatch', { value: () => true })
  const different = texts.filter(
    (text, index) => JSON.stringify(detect(text)) !== JSON.stringify(filtered[index]),
  )
  t.same(different, [])
})

t.test('the prefilter for secrets passes every secret', async (t) => {
  const secrets = TEXTS.flatMap((marked) =>
    detect(plain(marked)).map((finding) => ({ finding, text: plain(marked) })),
  )
  for (const { finding, text } of secrets) {
    if (!/^(?:sk-|gh|glpat|A[KI]|xox|eyJ|npm|hf_)/.test(text.slice(finding.start))) continue
    t.notOk(holdsNoSecret(text, finding.start, finding.start + 1), text)
  }
  t.ok(holdsNoSecret('http-nio-8000-exec-0', 9, 13))
})

t.test('the prefilter for secrets passes every form of a token', async (t) => {
  for (const { prefixes, rest } of TOKEN_FORMS) {
    const ends = rest.replaceAll(/[(][?]![^)]*[)]/g, '')
    const token = fc.stringMatching(new RegExp(`^(?:${ends})$`), { size: 'small' })
    for (const prefix of prefixes.split(' '))
      fc.assert(
        fc.property(token, (text) => {
          const word = 1 + prefix.search(/[\w.-]*$/)
          const end = 1 + (prefix + text).search(/(?<=^.{16,})[^\w.-]|$/)
          return !holdsNoSecret(` ${prefix}${text} `, word, end)
        }),
        { numRuns: 30 },
      )
  }
  t.pass()
})
