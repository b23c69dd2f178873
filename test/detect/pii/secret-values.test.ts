// Tests which credentials are found by their form and by their place, and what only looks like one.

import t from 'tap'
import { detect } from '../../../src/detect/pii/detect.ts'
import { StreamDetector } from '../../../src/detect/pii/detect-stream.ts'
import { NO_SECRETS } from './no-secrets-data.ts'
import { markedForms } from './secret-forms.ts'
import { markedPlaces } from './secret-places.ts'

const SEED = 20_261_127
const plain = (marked: string): string => marked.replace(/[«»]/g, '')
const marks = (marked: string): string[] => [...marked.matchAll(/«([^»]*)»/g)].map(([, value]) => value!)
const secrets = (text: string): string[] =>
  detect(text)
    .filter(({ kind }) => kind === 'secret')
    .map(({ start, end }) => text.slice(start, end))

const isFound = (marked: string): boolean =>
  JSON.stringify(secrets(plain(marked))) === JSON.stringify(marks(marked))

/** Share of random values that look like words and may be missed. */
const MAXIMUM_MISSED = 0.01

t.test('tokens are found by their form in settings, in a sentence and in a log line', async (t) => {
  const forms = markedForms(SEED)
  const missed = forms.filter(({ marked }) => !isFound(marked))
  t.ok(missed.length <= MAXIMUM_MISSED * forms.length, missed.map(({ marked }) => marked).join('\n'))
})

t.test('credentials are found by their place, each alone', async (t) => {
  const places = markedPlaces(SEED)
  const missed = places.filter(({ marked }) => !isFound(marked))
  t.ok(missed.length <= MAXIMUM_MISSED * places.length, missed.map(({ marked }) => marked).join('\n'))
})

t.test('settings stay well-formed when credentials are redacted', async (t) => {
  const redacted = (text: string): string =>
    detect(text).reduceRight((rest, { start, end }) => `${rest.slice(0, start)}[X_1]${rest.slice(end)}`, text)
  for (const { marked } of markedPlaces(SEED)) {
    const text = plain(marked)
    if (/^\{"/.test(text)) t.doesNotThrow(() => JSON.parse(redacted(text)), text)
    if (/^[A-Z_]+=/m.test(text)) t.equal(redacted(text).split('\n').length, text.split('\n').length, text)
  }
})

t.test('placeholders, variables, types, names and prose are no credentials', async (t) => {
  for (const [reason, texts] of Object.entries(NO_SECRETS))
    for (const text of texts) t.same(secrets(text), [], `${reason}: ${text}`)
})

t.test('a stream finds the credentials of the whole text', async (t) => {
  const texts = [...markedForms(SEED + 1), ...markedPlaces(SEED + 1)].map(({ marked }) => plain(marked))
  for (const text of [...texts, ...Object.values(NO_SECRETS).flat()]) {
    const whole = JSON.stringify(detect(text))
    for (const size of [1, 7, 50]) {
      const detector = new StreamDetector()
      const findings = []
      for (let at = 0; at < text.length; at += size)
        findings.push(...detector.push(text.slice(at, at + size)))
      findings.push(...detector.finish())
      if (JSON.stringify(findings) !== whole) t.same(findings, detect(text), `${text} in chunks of ${size}`)
    }
  }
  t.pass()
})
