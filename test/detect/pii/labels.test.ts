// Tests values that need a label: the ways to write it, for each kind, in whole texts and in
// streams. «…» encloses an expected finding; a text without it has none.

import t from 'tap'
import { type BuiltInKind, type Finding, PII_KINDS } from '../../../src/core/finding.ts'
import { detect } from '../../../src/detect/pii/detect.ts'
import { StreamDetector } from '../../../src/detect/pii/detect-stream.ts'
import { kindSet } from '../../../src/detect/pii/kinds.ts'
import { NAMED, UNNAMED } from './labels-data.ts'

const plain = (marked: string): string => marked.replace(/[«»]/g, '')
const shown = (text: string, findings: readonly Finding[]): string[] =>
  findings.map(({ kind, start, end }) => `${kind} ${text.slice(start, end)}`)

for (const [kind, texts] of Object.entries(NAMED) as [BuiltInKind, readonly string[]][]) {
  t.test(`${kind} is found after its label`, async (t) => {
    for (const marked of texts) {
      const text = plain(marked)
      const expected = [...marked.matchAll(/«([^»]*)»/g)].map(([, value]) => `${kind} ${value}`)
      t.same(shown(text, detect(text)), expected, text)
    }
  })
}

t.test('numbers after other words are not found', async (t) => {
  for (const text of UNNAMED) t.same(shown(text, detect(text)), [], text)
})

t.test('a stream of single characters finds labelled values after a long text', async (t) => {
  const kinds = kindSet(PII_KINDS)
  for (const text of [...Object.values(NAMED).flat(), ...UNNAMED].map(
    (marked) => `${'a b. '.repeat(30)}${plain(marked)}`,
  )) {
    const detector = new StreamDetector(kinds)
    const findings = [...text].flatMap((character) => detector.push(character))
    t.same([...findings, ...detector.finish()], detect(text, kinds), text.slice(-60))
  }
})
