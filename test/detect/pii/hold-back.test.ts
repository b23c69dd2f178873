// Checks how much text a stream holds back, and that no cut falls inside a value.

import fc from 'fast-check'
import t from 'tap'
import type { Finding } from '../../../src/core/finding.ts'
import { detect } from '../../../src/detect/pii/detect.ts'
import { StreamDetector } from '../../../src/detect/pii/detect-stream.ts'
import { DEFAULT_KINDS, kindSet } from '../../../src/detect/pii/kinds.ts'
import { HOLD_BACK_TEXTS } from './hold-back-data.ts'

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
