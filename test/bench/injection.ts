// Measures the prompt injection score: what it catches and mistakes on development data, what it does with sources it
// never saw, and what it costs beside a bare walk over the same text. Usage: see src/detect/injection/README.md.

import { parseArgs } from 'node:util'
import {
  createInjectionModel,
  type InjectionMode,
  type InjectionModel,
  loadInjectionModel,
} from '../../src/detect/injection/score.ts'
import { disguise, plantedRows, prepare, type Row, readRows } from './injection-corpus.ts'
import { ALL_FAMILIES, pick } from './injection-grammar.ts'
import { createRandom } from './injection-learn.ts'
import { material, store, train } from './injection-train.ts'

const ROUNDS = 7
const THRESHOLDS = [0.5, 0.7, 0.9] as const
/** Sources that are left out together because they come from one hand. */
const HELD_OUT: readonly (readonly string[])[] = [
  ['neuralchemy'],
  ['jackhhao', 'awesome_prompts'],
  [
    'synth_direct',
    'synth_indirect',
    'synth_doc',
    'synth_obf',
    'synth_ml',
    'synth_mlb',
    'synth_hardneg',
    'aug_typo_attack',
    'aug_typo_benign',
    'aug_obf_benign',
    'aug_doc_benign',
  ],
  ['c4', 'code_docs', 'readme_docs', 'bipia_ctx_train'],
  ['seed_tasks', 'cse_instruct', 'glaive_toolcall_en', 'glaive_toolcall_en_other'],
]
/** Every so many rows of a source that was left out are scored. */
const HELD_OUT_STEP = 3
/** Rows of BIPIA are sorted by kind, so that each part holds kinds the others have not. */
const TASK_PARTS = 4

/** Documents and tool results are scored by windows. */
const modeOf = ({ source }: Row): InjectionMode =>
  /doc|c4|ctx|planted|toolcall.*other|lohelp/.test(source) ? 'windows' : 'whole'

function table(model: InjectionModel, rows: readonly Row[]): void {
  const groups = Map.groupBy(
    rows,
    ({ label, source }) => `${label === 1 ? 'attack' : 'innocent'} | ${source}`,
  )
  console.log(
    `| label | source | rows | mode | ${THRESHOLDS.map((at) => `≥ ${at.toFixed(2)}`).join(' | ')} |`,
  )
  console.log(`|---|---|---|---|${'---|'.repeat(THRESHOLDS.length)}`)
  for (const [name, group] of [...groups].sort()) {
    const mode = modeOf(group[0] as Row)
    const scores = group.map(({ text }) => model.score(text, mode).score)
    const shares = THRESHOLDS.map((at) =>
      percent(scores.filter((score) => score >= at).length, scores.length),
    )
    console.log(`| ${name} | ${group.length} | ${mode} | ${shares.join(' | ')} |`)
  }
}

function summary(model: InjectionModel, rows: readonly Row[]): void {
  const isAttack = (row: Row) => model.score(row.text, modeOf(row)).score >= model.threshold
  const [innocent, attacks] = [
    rows.filter(({ label }) => label === 0),
    rows.filter(({ label }) => label === 1),
  ]
  const passed = innocent.filter((row) => !isAttack(row)).length
  const caught = attacks.filter(isAttack).length
  console.log(
    `innocent passed ${percent(passed, innocent.length)}, attacks caught ${percent(caught, attacks.length)}, `,
  )
  console.log(
    `right ${percent(passed + caught, rows.length)}; "always innocent" is right ${percent(innocent.length, rows.length)}`,
  )
}

/** Trains without each group in turn and scores it: what to expect of texts from elsewhere. */
function generalise(trainRows: readonly Row[], development: readonly Row[], packages: string | null): void {
  for (const group of HELD_OUT) {
    const without = new Set(group)
    const texts = material(trainRows, { seed: 1, without, packages, families: ALL_FAMILIES })
    const known = development.filter(({ source }) => !without.has(source)).map(prepare)
    const model = createInjectionModel(
      store(train(texts, 'messages', 1), train(texts, 'documents', 1), known),
    )
    console.log(`\nlearned without ${group.join(', ')}`)
    const held = [...trainRows, ...development].filter(({ source }) => without.has(source))
    table(
      model,
      held.filter((_, index) => index % HELD_OUT_STEP === 0),
    )
  }
}

/** BIPIA's tasks in four parts, each scored by a model that learned from the other three; in its own documents. */
function tasks(trainRows: readonly Row[], development: readonly Row[], packages: string | null): void {
  const all = trainRows.filter(({ source }) => source === 'bipia_attack_train')
  const documents = trainRows.filter(({ source }) => source === 'bipia_ctx_train')
  console.log(
    '\n| quarter of BIPIA tasks, left out | rows | alone, whole | alone, windows | in a document, windows |',
  )
  console.log('|---|---|---|---|---|')
  for (let part = 0; part < TASK_PARTS; part++) {
    const held = all.filter((_, index) => Math.floor((index * TASK_PARTS) / all.length) === part)
    const kept = trainRows.filter((row) => !held.includes(row))
    const texts = material(kept, { seed: 1, without: new Set(), packages, families: ALL_FAMILIES })
    const known = development.map(prepare)
    const model = createInjectionModel(
      store(train(texts, 'messages', 1), train(texts, 'documents', 1), known),
    )
    const random = createRandom(part)
    const placed = held.map(({ text }) => {
      const document = pick(documents, random).text
      return random() < 0.5 ? `${document}\n${text}` : `${text}\n${document}`
    })
    const share = (mode: InjectionMode, list: readonly string[]) =>
      percent(list.filter((text) => model.score(text, mode).score >= model.threshold).length, list.length)
    const bare = held.map(({ text }) => text)
    console.log(
      `| ${part + 1} | ${held.length} | ${share('whole', bare)} | ${share('windows', bare)} | ${share('windows', placed)} |`,
    )
  }
}

/** Best of several rounds, in microseconds per KiB of UTF-8. */
function cost(texts: readonly string[], run: (text: string) => unknown): number {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  let best = Infinity
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now()
    for (const text of texts) run(text)
    best = Math.min(best, performance.now() - start)
  }
  return (best * 1000 * 1024) / bytes
}

function speed(model: InjectionModel, rows: readonly Row[]): void {
  const kilobytes = (text: string) =>
    text.match(/[\s\S]{1,1024}/g)?.filter((piece) => piece.length === 1024) ?? []
  const plain = kilobytes(
    rows
      .filter(({ source }) => /c4|readme/.test(source))
      .map(({ text }) => text)
      .join('\n'),
  ).slice(0, 200)
  const random = createRandom(1)
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['prose and documentation, 1 KB', plain],
    [
      'code documentation, 1 KB',
      kilobytes(
        rows
          .filter(({ source }) => source === 'code_docs')
          .map(({ text }) => text)
          .join('\n'),
      ),
    ],
    [
      'Chinese, 1 K characters',
      kilobytes(
        rows
          .filter(({ source }) => /zh/.test(source))
          .map(({ text }) => text)
          .join('\n'),
      ),
    ],
    ['the same disguised in eleven ways', plain.map((text) => disguise(text, random))],
  ]
  console.log('\n| text | µs per KB | beside a walk over its characters |\n|---|---|---|')
  for (const [name, texts] of cases) {
    const scored = cost(texts, (text) => model.score(text, 'windows'))
    const walked = cost(texts, walk)
    console.log(`| ${name} | ${scored.toFixed(0)} | ${(scored / walked).toFixed(0)} times |`)
  }
}

/** The floor: looks at every character and does nothing with it. */
function walk(text: string): number {
  let sum = 0
  for (let index = 0; index < text.length; index++) sum = (sum + text.charCodeAt(index)) | 0
  return sum
}

function percent(part: number, all: number): string {
  return `${((100 * part) / all).toFixed(1)} %`
}

const { values } = parseArgs({
  options: { train: { type: 'string' }, dev: { type: 'string' }, packages: { type: 'string' } },
})
if (values.dev === undefined) {
  console.error('usage: injection.ts --dev dev.jsonl [--train train.jsonl [--packages node_modules]]')
  process.exitCode = 2
} else {
  const model = loadInjectionModel()
  const development = readRows(values.dev)
  const rows = [...development, ...plantedRows(development, 300, 'planted', createRandom(5))]
  console.log(`model ${model.version}, threshold ${model.threshold}\n`)
  table(model, rows)
  summary(model, rows)
  speed(model, development)
  if (values.train !== undefined) {
    const trainRows = readRows(values.train)
    generalise(trainRows, development, values.packages ?? null)
    tasks(trainRows, development, values.packages ?? null)
  }
}
