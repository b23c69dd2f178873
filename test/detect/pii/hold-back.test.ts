// Checks how much text a stream holds back, and that no cut falls inside a value.

import fc from 'fast-check'
import t from 'tap'
import type { Finding } from '../../../src/core/finding.ts'
import { detect } from '../../../src/detect/pii/detect.ts'
import { StreamDetector } from '../../../src/detect/pii/detect-stream.ts'
import { DEFAULT_KINDS, kindSet } from '../../../src/detect/pii/kinds.ts'
import { TOKEN_FORMS } from '../../../src/detect/pii/secret/token-forms.ts'
import { createRandom } from '../../training/phrases.ts'
import { HOLD_BACK_TEXTS } from './hold-back-data.ts'
import { fillPattern } from './secret-forms.ts'

t.test('a stream holds back no more than the longest value that may begin', async (t) => {
  for (const [name, text, limit] of HOLD_BACK_TEXTS)
    for (const kinds of [DEFAULT_KINDS, kindSet(['us_ssn'])]) {
      const detector = new StreamDetector(kinds)
      let most = 0
      for (let at = 0; at < text.length; at++) {
        detector.push(text.charAt(at))
        most = Math.max(most, at + 1 - detector.safe)
      }
      t.ok(most <= limit, `${name}: ${most}`)
    }
})

const VALUES = [
  'alice.smith@example.com',
  'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
  '123-45-6789',
  '4111 1111 1111 1111',
]

t.test('a value is found whole after any length of text without a natural cut', async (t) => {
  for (const value of VALUES)
    for (const filler of ['-', '(', '/ '])
      for (let length = 0; length < 1100; length += length < 300 || length > 1000 ? 1 : 50) {
        const text = `${filler.repeat(length)}${filler === '-' && !value.includes('@') ? ' ' : ''}${value}`
        const start = text.length - value.length
        t.ok(
          detect(text).some((found) => found.start === start && found.end === text.length),
          `${length} times ${filler} before ${value}`,
        )
      }
})

/** A part of a token that may have a thousand characters or more, and its padding. */
const LONG_PART = /\[[^\]]*\]\{\d+,\d{4,}\}/g
const PADDING = /=\{[^}]*\}/g

t.test('a long token of every form is found whole, also in a stream', async (t) => {
  const streamed = (text: string): Finding[] => {
    const detector = new StreamDetector()
    const findings: Finding[] = []
    for (let at = 0; at < text.length; at += 100) findings.push(...detector.push(text.slice(at, at + 100)))
    return [...findings, ...detector.finish()]
  }
  const random = createRandom(7)
  const long = TOKEN_FORMS.filter(({ rest }) => rest.search(LONG_PART) >= 0)
  t.ok(long.length > 10)
  for (const { prefixes, rest } of long) {
    const around = rest.replaceAll(LONG_PART, '%').replaceAll(PADDING, '')
    const [token] = fc.sample(fc.stringMatching(new RegExp(`^${around}$`)), { numRuns: 1, seed: 7 })
    for (const prefix of prefixes.split(' ')) {
      const value = prefix + token!.replaceAll('%', () => fillPattern('{a900}', random))
      const text = `the value is ${value} and no more`
      const start = text.indexOf(value)
      for (const [way, found] of [
        ['whole', detect(text)],
        ['in a stream', streamed(text)],
      ] as const)
        t.match(found, [{ start, end: start + value.length }], `${way}: ${value.slice(0, 60)}`)
    }
  }
})

t.test('a stream finds what the whole text has where cuts lie between values', async (t) => {
  const part = fc.tuple(
    fc.constantFrom('1 ', '4111 ', '-', 'item1 ', '00:00 ', 'x', 'sk-', 'eyJ', '@', '//', ...VALUES),
    fc.constantFrom(1, 1, 3, 20, 60),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), fc.constantFrom(1, 3, 17, 100), (parts, size) => {
      const text = parts.map(([unit, count]) => unit.repeat(count)).join('')
      const detector = new StreamDetector()
      const findings: Finding[] = []
      for (let at = 0; at < text.length; at += size)
        findings.push(...detector.push(text.slice(at, at + size)))
      t.same([...findings, ...detector.finish()], detect(text))
    }),
    { numRuns: 300 },
  )
})
