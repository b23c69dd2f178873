// Tests that developers' texts are left alone, and what looks like them is not.

import t from 'tap'
import { detect } from '../../../src/detect/pii/detect.ts'
import { StreamDetector } from '../../../src/detect/pii/detect-stream.ts'
import { NOBODYS, SOMEBODYS } from './developer-cases.ts'
import { developerTexts } from './developer-texts.ts'

const CHARACTERS_A_KIND = 60_000
const MAXIMUM_FALSE_A_MEGABYTE = 1

t.test('less than one finding a megabyte is false in texts of developers', async (t) => {
  const found: string[] = []
  let characters = 0
  for (const { kind, text } of developerTexts(CHARACTERS_A_KIND, 7)) {
    characters += text.length
    for (const { start, end } of detect(text))
      found.push(`${kind}: ${text.slice(Math.max(0, start - 40), start)}«${text.slice(start, end)}»`)
  }
  const limit = Math.ceil((characters / 1e6) * MAXIMUM_FALSE_A_MEGABYTE)
  t.ok(found.length <= limit, `${found.length} in ${characters} characters`, { found: found.slice(0, 10) })
})

t.test('numbers and names of nobody stay as they are', async (t) => {
  for (const text of NOBODYS) {
    t.same(
      detect(text).map(({ start, end }) => text.slice(start, end)),
      [],
      text,
    )
  }
})

t.test('the same words and forms are found where they are those of a person', async (t) => {
  for (const marked of SOMEBODYS) {
    const text = marked.replace(/[«»]/g, '')
    t.same(
      detect(text).map(({ start, end }) => text.slice(start, end)),
      [...marked.matchAll(/«([^»]*)»/g)].map(([, value]) => value),
      marked,
    )
  }
})

t.test('a stream finds the same in such texts', async (t) => {
  const texts = [...NOBODYS, ...SOMEBODYS.map((text) => text.replace(/[«»]/g, ''))]
  for (const { text } of developerTexts(6_000, 3)) texts.push(text)
  for (const text of texts) {
    for (const step of [1, 3, 64]) {
      const detector = new StreamDetector()
      const findings = []
      for (let at = 0; at < text.length; at += step)
        findings.push(...detector.push(text.slice(at, at + step)))
      findings.push(...detector.finish())
      t.same(findings, detect(text), text.slice(0, 60))
    }
  }
})
