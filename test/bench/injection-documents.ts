// Measures a model on texts written by hand that it has not learned from: commands to people,
// instructions planted for the assistant, and attacks and innocent texts of many kinds.

import type { InjectionMode, InjectionModel } from '../../src/detect/injection/score.ts'
import { IMPERATIVE_DOCUMENTS } from './injection-imperative-data.ts'
import { PLANTED_DOCUMENTS } from './injection-planted-data.ts'
import { shares, THRESHOLD_HEADS } from './injection-tables.ts'
import { WRITTEN_TEXTS } from './injection-written-data.ts'

interface Planted {
  readonly text: string
  /** The same document without the instruction. */
  readonly carrier: string
  readonly start: number
  readonly end: number
}

/**
 * Prints the share of documents at or above each threshold, and how often the span overlaps the
 * planted instruction.
 */
export function printDocuments(model: InjectionModel): void {
  const planted = PLANTED_DOCUMENTS.map(unmark)
  const groups: readonly (readonly [name: string, texts: readonly string[]])[] = [
    ['attack | with an instruction to the assistant', planted.map(({ text }) => text)],
    ['innocent | the same without it', planted.map(({ carrier }) => carrier)],
    ['innocent | full of commands to people', IMPERATIVE_DOCUMENTS],
  ]
  console.log('\n### Documents written by hand\n')
  console.log(`| label | document | rows | mode | ${THRESHOLD_HEADS} |`)
  console.log('|---|---|---|---|---|---|---|')
  for (const [name, texts] of groups) {
    for (const mode of ['windows', 'whole'] as const) {
      const scores = texts.map((text) => model.score(text, mode).score)
      console.log(`| ${name} | ${texts.length} | ${mode} | ${shares(scores).join(' | ')} |`)
    }
  }
  const found = planted.filter((document) => pointsAt(model, document, 'windows'))
  console.log(`\nevidence on the instruction: ${found.length} documents`)
}

/** Prints the share of texts of each kind at or above each threshold. */
export function printWritten(model: InjectionModel): void {
  console.log('\n### Texts written by hand\n')
  console.log(`| label | texts | rows | mode | ${THRESHOLD_HEADS} |`)
  console.log('|---|---|---|---|---|---|---|')
  for (const { name, label, mode, texts } of WRITTEN_TEXTS) {
    const scores = texts.map((text) => model.score(text, mode).score)
    console.log(`| ${label} | ${name} | ${texts.length} | ${mode} | ${shares(scores).join(' | ')} |`)
  }
}

function pointsAt(model: InjectionModel, { text, start, end }: Planted, mode: InjectionMode): boolean {
  const { score, span } = model.score(text, mode)
  return score >= model.threshold && span !== null && span.start < end && span.end > start
}

/** Removes the marks around the instruction. */
function unmark(document: string): Planted {
  const start = document.indexOf('⟪')
  const end = document.indexOf('⟫') - 1
  const text = document.replace(/[⟪⟫]/g, '')
  return { text, carrier: text.slice(0, start) + text.slice(end), start, end }
}
