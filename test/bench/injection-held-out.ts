// Measures how a model does on unseen texts: trains without some sources, families of sentences or
// kinds of tasks, and scores those.

import { createInjectionModel, type InjectionModel } from '../../src/detect/injection/score.ts'
import { grammarRows, plantedRows, prepare, type Row, userRows } from './injection-corpus.ts'
import { ALL_FAMILIES, type Families, pick, splitFamilies } from './injection-grammar.ts'
import { createRandom } from './injection-learn.ts'
import { store } from './injection-store.ts'
import { percent, printTable } from './injection-tables.ts'
import { material, train } from './injection-train.ts'

/** Sources that are left out together, because they have one author or are of one kind. */
const HELD_OUT: readonly RegExp[] = [
  /^neuralchemy$/,
  /^(?:jackhhao|awesome_prompts)$/,
  /^(?:synth|aug)_/,
  /^(?:c4|code_docs|readme_docs|bipia_ctx_train|lohelp_..)$/,
  /^(?:seed_tasks|cse_instruct|glaive_.*|ui_strings|bipia_q_train)$/,
]
/** Every n-th left-out row is scored. */
const HELD_OUT_STEP = 3
/** Families are left out a quarter at a time, in two of the four quarters. */
const FAMILY_FOLDS = 4
const FAMILY_FOLDS_TRIED = [0, 2] as const
const FAMILY_STEP = 8
const PLANTED_ROWS = 300
/** Rows of BIPIA are sorted by kind, so that each part has kinds of its own. */
const TASK_PARTS = 4

/** Shared by all trainings. */
export interface Corpora {
  readonly train: readonly Row[]
  readonly development: readonly Row[]
  readonly packages: string | null
}

/** Trains without each group of sources in turn and scores it. */
export function printSources(corpora: Corpora): void {
  for (const group of HELD_OUT) {
    const kept = ({ source }: Row) => !group.test(source)
    const model = trained(corpora, ALL_FAMILIES, kept)
    console.log(`\nlearned without ${group.source}`)
    const held = [...corpora.train, ...corpora.development].filter((row) => !kept(row))
    printTable(
      model,
      held.filter((_, index) => index % HELD_OUT_STEP === 0),
    )
  }
}

/** Trains without a part of the grammar's families and scores sentences made from them. */
export function printFamilies(corpora: Corpora): void {
  const carriers = corpora.development.filter(({ label }) => label === 0)
  const rows = FAMILY_FOLDS_TRIED.flatMap((fold) => {
    const { kept, held } = splitFamilies(fold, FAMILY_FOLDS)
    const model = trained(corpora, kept, () => true)
    const random = createRandom(fold)
    const made = [...grammarRows(held, random), ...userRows(held, [], random)].filter(
      (_, index) => index % FAMILY_STEP === 0,
    )
    const inDocuments = ['own_indirect', 'own_response', 'own_errand'].flatMap((kind) =>
      plantedRows(
        [...carriers, ...made.filter(({ source }) => source === kind)],
        PLANTED_ROWS,
        `planted_${kind}`,
        random,
      ),
    )
    const alone = made.filter(({ source }) => !/own_indirect|own_response|own_errand/.test(source))
    return [...alone, ...inDocuments].map((row) => ({ row, model }))
  })
  console.log(
    `\nlearned without quarters ${FAMILY_FOLDS_TRIED.join(' and ')} of the families, each scored by its own model`,
  )
  const scoring = new Map(rows.map(({ row, model }) => [row.text, model]))
  const some = rows[0] as (typeof rows)[number]
  printTable(
    { ...some.model, score: (text, mode) => (scoring.get(text) as InjectionModel).score(text, mode) },
    rows.map(({ row }) => ({ ...row, source: row.source.replace(/.*_disguised/, 'own_disguised') })),
  )
}

/**
 * Scores BIPIA's tasks in four parts in its own documents, each with a model that learned from the
 * other three.
 */
export function printTasks(corpora: Corpora): void {
  const all = corpora.train.filter(({ source }) => source === 'bipia_attack_train')
  const documents = corpora.train.filter(({ source }) => source === 'bipia_ctx_train')
  console.log(
    '\n| quarter of BIPIA tasks, left out | rows | alone, whole | alone, windows | in a document, windows |',
  )
  console.log('|---|---|---|---|---|')
  for (let part = 0; part < TASK_PARTS; part++) {
    const held = all.filter((_, index) => Math.floor((index * TASK_PARTS) / all.length) === part)
    const model = trained(corpora, ALL_FAMILIES, (row) => !held.includes(row))
    const random = createRandom(part)
    const placed = held.map(({ text }) => {
      const document = pick(documents, random).text
      return random() < 0.5 ? `${document}\n${text}` : `${text}\n${document}`
    })
    const caught = (mode: 'whole' | 'windows', list: readonly string[]) =>
      percent(list.filter((text) => model.score(text, mode).score >= model.threshold).length, list.length)
    const bare = held.map(({ text }) => text)
    console.log(
      `| ${part + 1} | ${held.length} | ${caught('whole', bare)} | ${caught('windows', bare)} | ${caught('windows', placed)} |`,
    )
  }
}

/** Trains a model on the kept texts, with its centres from the kept development texts. */
function trained(corpora: Corpora, families: Families, kept: (row: Row) => boolean): InjectionModel {
  const texts = material(corpora.train.filter(kept), { seed: 1, packages: corpora.packages, families })
  const known = corpora.development.filter(kept).map(prepare)
  return createInjectionModel(store(train(texts, 'messages', 1), train(texts, 'documents', 1), known))
}
