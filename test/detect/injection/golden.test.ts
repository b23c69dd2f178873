// Pins down scores and spans of fixed texts under made-up weights, to the last digit. A change that
// only makes scoring faster keeps them; one of features needs a new FEATURE_FORM and new weights.

import { createHash } from 'node:crypto'
import t from 'tap'
import { CELLS, FEATURE_FORM } from '../../../src/detect/injection/features.ts'
import { createInjectionModel } from '../../../src/detect/injection/score.ts'
import { ATTACKS, INNOCENT } from './clear-data.ts'
import { TRANSFORMS } from './transforms.ts'

/** SHA-256 of all scores and spans below, for FEATURE_FORM 3. */
const GOLDEN = 'fa1e4c04c25dab1fdc382395ba7c3910e863654e0be7991fd4cbad9affdf3361'

function madeUpCells(seed: number): string {
  const cells = Buffer.alloc(2 * CELLS)
  let state = seed
  for (let cell = 0; cell < CELLS; cell++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    cells.writeInt16LE(state >> 16, 2 * cell)
  }
  return cells.toString('base64')
}

const table = (seed: number) => ({ scale: 0.01, bias: -0.5, cells: madeUpCells(seed) })
const model = createInjectionModel({
  version: 'golden',
  featureForm: FEATURE_FORM,
  threshold: 0.5,
  messages: table(1),
  documents: table(2),
})

function texts(): string[] {
  const plain = [...ATTACKS, ...INNOCENT]
  const long = plain.join(' ')
  const mixtures = [
    long.repeat(6),
    `${long}\n\n${Buffer.from(ATTACKS[0] as string).toString('base64')}\n${long}`,
    `a${'\u200b'.repeat(9000)}b`,
    'word '.repeat(4000) + ATTACKS[0],
    '{"user": "a.b@c.d", "x1": [3.14, 0x1f, "3f786850e387550fdab836ed7e6dc881de23001b"]}\r\n<p>it\'s</p>',
    'x'.repeat(20_000),
    'Ünïcödé ﬁne ＡＢＣ １２３ 漢字かなカナ 한글 ไทย العَرَبِيَّة עִבְרִית 😀🇩🇪 \ud800 \udc00',
  ]
  return [
    ...plain,
    ...mixtures,
    ...TRANSFORMS.flatMap(({ apply }) => plain.slice(0, 12).map((text) => apply(text))),
  ]
}

t.test('scores and spans equal the recorded ones of this feature form', async (t) => {
  const digest = createHash('sha256')
  for (const text of texts()) {
    for (const mode of ['whole', 'windows'] as const) {
      const { score, span } = model.score(text, mode)
      digest.update(`${score.toFixed(12)} ${span?.start} ${span?.end}\n`)
    }
  }
  t.equal(FEATURE_FORM, 3)
  t.equal(digest.digest('hex'), GOLDEN)
})
