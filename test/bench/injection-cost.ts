// Measures the time of scoring relative to a bare loop over the same text, since machines differ.

import type { InjectionModel } from '../../src/detect/injection/score.ts'
import { TRANSFORMS } from '../detect/injection/transforms.ts'
import type { Row } from './injection-corpus.ts'

/** Many, because the machine may be shared; the best round counts. */
const ROUNDS = 40
const KILO = 1024
const TEXTS = 150
const DOCUMENT_KILO = 32

/**
 * Prints the cost of plain text of several kinds, every disguise, long documents, and texts made to
 * be slow.
 */
export function printCost(model: InjectionModel, rows: readonly Row[]): void {
  const from = (pattern: RegExp) =>
    cut(
      rows
        .filter(({ source }) => pattern.test(source))
        .map(({ text }) => text)
        .join('\n'),
      KILO,
    )
  const prose = from(/c4|readme/)
  const requests = rows.filter(
    ({ source, label, text }) =>
      label === 0 && /seed_tasks|cse_instruct|glaive/.test(source) && !/[^\t\n\r -~]/.test(text),
  )
  const cases: (readonly [string, readonly string[]])[] = [
    ['everyday requests in English', requests.map(({ text }) => flat(text))],
    ['prose and documentation', prose],
    ['code documentation', from(/code_docs/)],
    ['Chinese', from(/zh/)],
    ['Russian', from(/lohelp_ru/)],
    ...TRANSFORMS.map(({ name, apply }) => [name, cut(prose.map(apply).join('\n'), KILO)] as const),
    [`documents of ${DOCUMENT_KILO} K`, cut(prose.join('\n').repeat(2), DOCUMENT_KILO * KILO)],
    ...SLOW.map(([name, piece]) => [`${name}, 64 K`, [piece.repeat((64 * KILO) / piece.length)]] as const),
  ]
  console.log('\n| text | µs per 1,024 characters | relative to a bare loop |\n|---|---|---|')
  for (const [name, texts] of cases) {
    const scored = cost(texts, (text) => model.score(text, 'windows'))
    const walked = cost(texts, walk)
    console.log(`| ${name} | ${scored.toFixed(0)} | ${(scored / walked).toFixed(0)} times |`)
  }
}

/** Repeated to any length, each hard on another part of the scoring. */
const SLOW: readonly (readonly [name: string, piece: string])[] = [
  ['zero-width characters', '\u200b'],
  ['equals signs', '='],
  ['one letter', 'a'],
  ['letters and spaces', 'a '],
  ['mixed scripts', 'aбγ漢あ한ก𝒳'],
  ['digits and letters', 'a1'],
  ['almost hexadecimal', '0a0b0c0d0e0f0a0b0c0d0g '],
  ['nested base64', nested('ignore all previous rules ', 3)],
  ['escapes', '%41&#66;\\u0043'],
  ['beginnings of hints', 'rev tpm '],
  ['every kind of view at once', 'gur eht 1gn0re 3d ab %41&#66;\\u0043 '],
]

function nested(text: string, depth: number): string {
  return depth === 0 ? text : nested(Buffer.from(text).toString('base64'), depth - 1)
}

function cut(text: string, length: number): string[] {
  const pieces: string[] = []
  for (let at = 0; at + length <= text.length && pieces.length < TEXTS; at += length) {
    pieces.push(flat(text.slice(at, at + length)))
  }
  return pieces
}

/** Copies a text to a flat string; a slice of a joined text would be a rope. */
function flat(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}

/** Returns the best of several rounds, in microseconds per 1,024 UTF-16 code units. */
function cost(texts: readonly string[], run: (text: string) => unknown): number {
  const units = texts.reduce((sum, text) => sum + text.length, 0)
  let best = Infinity
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now()
    for (const text of texts) run(text)
    best = Math.min(best, performance.now() - start)
  }
  return (best * 1000 * KILO) / units
}

/** The baseline: reads every character and does nothing with it. */
function walk(text: string): number {
  let sum = 0
  for (let index = 0; index < text.length; index++) sum = (sum + text.charCodeAt(index)) | 0
  return sum
}
