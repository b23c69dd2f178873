// Prints as Markdown what a model calls an attack, source by source.

import type { InjectionMode, InjectionModel } from '../../src/detect/injection/score.ts'
import { TRANSFORMS } from '../detect/injection/transforms.ts'
import type { Row } from './injection-corpus.ts'

const THRESHOLDS = [0.5, 0.7, 0.9] as const
/** Heads of the columns of shares. */
export const THRESHOLD_HEADS = THRESHOLDS.map((at) => `≥ ${at.toFixed(2)}`).join(' | ')
/** Longer texts are not disguised. */
const DISGUISED_UNITS_MAX = 400

/** Documents and tool results are scored by windows. */
const modeOf = ({ source }: Row): InjectionMode =>
  /doc|c4|ctx|planted|toolcall.*other|lohelp|orders/.test(source) ? 'windows' : 'whole'

/** Prints the share of rows at or above each threshold, by label and source. */
export function printTable(model: InjectionModel, rows: readonly Row[]): void {
  const groups = Map.groupBy(
    rows,
    ({ label, source }) => `${label === 1 ? 'attack' : 'innocent'} | ${source}`,
  )
  console.log(`| label | source | rows | mode | ${THRESHOLD_HEADS} |`)
  console.log(`|---|---|---|---|${'---|'.repeat(THRESHOLDS.length)}`)
  for (const [name, group] of [...groups].sort()) {
    const scores = group.map((row) => scoreOf(model, row))
    console.log(`| ${name} | ${group.length} | ${modeOf(group[0] as Row)} | ${shares(scores).join(' | ')} |`)
  }
}

/** Prints both labels together, next to a detector that calls everything innocent. */
export function printSummary(model: InjectionModel, rows: readonly Row[]): void {
  const scored = rows.map((row) => ({ attack: row.label === 1, score: scoreOf(model, row) }))
  const [attacks, innocent] = [scored.filter(({ attack }) => attack), scored.filter(({ attack }) => !attack)]
  console.log(`| | ${THRESHOLD_HEADS} | always innocent |`)
  console.log(`|---|${'---|'.repeat(THRESHOLDS.length)}---|`)
  console.log(`| innocent | ${shares(innocent.map(({ score }) => score)).join(' | ')} | 0.0 % |`)
  console.log(`| attacks | ${shares(attacks.map(({ score }) => score)).join(' | ')} | 0.0 % |`)
  const right = THRESHOLDS.map((at) =>
    percent(scored.filter(({ attack, score }) => score >= at === attack).length, scored.length),
  )
  console.log(`| right | ${right.join(' | ')} | ${percent(innocent.length, scored.length)} |`)
}

/**
 * Prints the effect of each disguise on innocent texts and attacks at the model's own threshold.
 */
export function printTransforms(model: InjectionModel, rows: readonly Row[]): void {
  const short = rows.filter(
    ({ text, source }) => text.length <= DISGUISED_UNITS_MAX && !/obf|doc|planted|response/.test(source),
  )
  const innocent = short.filter(({ label }) => label === 0)
  const attacks = short.filter(({ label }) => label === 1)
  const above = (list: readonly Row[], apply: (text: string) => string) =>
    list.filter(({ text }) => model.score(apply(text), 'whole').score >= model.threshold).length
  console.log(`\n| written | innocent passed (${innocent.length}) | attacks caught (${attacks.length}) |`)
  console.log('|---|---|---|')
  for (const { name, apply } of [{ name: 'plain', apply: (text: string) => text }, ...TRANSFORMS]) {
    const passed = innocent.length - above(innocent, apply)
    console.log(
      `| ${name} | ${percent(passed, innocent.length)} | ${percent(above(attacks, apply), attacks.length)} |`,
    )
  }
}

/** A share with one decimal. */
export function percent(part: number, all: number): string {
  return `${((100 * part) / all).toFixed(1)} %`
}

function scoreOf(model: InjectionModel, row: Row): number {
  return model.score(row.text, modeOf(row)).score
}

/** Returns the share of the scores that reach each threshold. */
export function shares(scores: readonly number[]): string[] {
  return THRESHOLDS.map((at) => percent(scores.filter((score) => score >= at).length, scores.length))
}
