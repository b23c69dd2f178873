// Tests that the README shows the figures of the code, and that those are of the shipped model.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { FIGURES_SCORE, LANGUAGE_FIGURES } from '../../../src/detect/injection/language-figures.ts'
import { loadInjectionModel } from '../../../src/detect/injection/score.ts'

const README = readFileSync(join(import.meta.dirname, '../../../src/detect/injection/README.md'), 'utf8')

t.test('the README has the figures of each language', async (t) => {
  const rows = README.split('\n').filter((line) => /^\| [a-z]{2} \|/.test(line))
  t.same(
    rows,
    LANGUAGE_FIGURES.map(
      ({ language, short, long, letters, lookAlikes, attacks, blockFrom }) =>
        `| ${[language, short, long, letters, lookAlikes, attacks, blockFrom.toFixed(2)].join(' | ')} |`,
    ),
  )
})

t.test('the figures hold at the threshold of the model', async (t) => {
  const { threshold, version } = loadInjectionModel()
  t.equal(FIGURES_SCORE, threshold)
  t.ok(README.includes(version), 'the README names the version')
})
