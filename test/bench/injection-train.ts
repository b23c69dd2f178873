// Learns the weights of src/detect/injection and writes its weights.ts. Deterministic: the same corpora, seed and Node
// give the same file. Usage: see src/detect/injection/README.md.

import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { BUCKETS } from '../../src/detect/injection/features.ts'
import { WINDOW_TOKENS } from '../../src/detect/injection/weigh.ts'
import {
  disguisedRows,
  foreignTexts,
  grammarRows,
  joinedRows,
  type Material,
  packageRows,
  plantedRows,
  prepare,
  type Row,
  readRows,
  userRows,
} from './injection-corpus.ts'
import { ALL_FAMILIES, type Families } from './injection-grammar.ts'
import {
  type Counted,
  createRandom,
  type Example,
  type Learned,
  learn,
  type Random,
  stretch,
  stretchMargins,
} from './injection-learn.ts'
import { render, store } from './injection-store.ts'
import { concerns, type Purpose, weigh } from './injection-weighing.ts'

/** Rounds in which innocent windows that look like attacks are found and learned. */
const MINING_ROUNDS = 4
/** Most such windows of one text in one round. */
const MINED_PER_TEXT = 5
/** Margin from which an innocent window is suspicious. */
const MINED_FROM = -2.5
/** Runs in different orders whose weights are averaged. */
const RUNS = 4
const LEARNING = { epochs: 5, rate: 0.25, decay: 4e-4 }

export interface Settings {
  readonly seed: number
  /** A node_modules folder whose MIT and BSD packages are used as innocent text, or none. */
  readonly packages: string | null
  /** Sources of the generated sentences. */
  readonly families: Families
}

/** All training texts. */
export function material(rows: readonly Row[], settings: Settings): Material[] {
  const random = createRandom(settings.seed)
  const packages = settings.packages === null ? [] : packageRows(settings.packages, random)
  const all = [...rows, ...packages, ...grammarRows(settings.families, random)]
  const demands = all.filter(({ source, label }) => label === 0 || /own_response|bipia_attack/.test(source))
  const errands = all.filter(({ source, label }) => label === 0 || /errand$/.test(source))
  const errandsAmongOrders = all.filter(({ source }) => /errand$|orders$/.test(source))
  const made = [
    ...joinedRows(
      all.filter(({ source }) => !/own_response|bipia_attack|errand|order/.test(source)),
      8000,
      random,
    ),
    ...plantedRows(
      all.filter(({ source }) => source !== 'own_response' && !/errand/.test(source)),
      7000,
      'planted',
      random,
    ),
    ...plantedRows(demands, 4000, 'planted_response', random),
    ...plantedRows(errands, 8000, 'planted_errand', random),
    ...plantedRows(errandsAmongOrders, 5000, 'planted_errand_among_orders', random),
    ...disguisedRows(all, 5000, random),
    ...foreignTexts(settings.families, 1200, random),
  ]
  const users = userRows(settings.families, all, random)
  return [...all, ...made, ...users].map(prepare)
}

/**
 * Learns in rounds: first from labelled texts, then from innocent windows that look like attacks.
 */
export function train(all: readonly Material[], purpose: Purpose, seed: number): Learned {
  const random = createRandom(seed + 1)
  const texts = all.filter(({ source }) => concerns(purpose, source))
  const weightOf = weigh(texts, purpose)
  const examples = texts.flatMap((text) => examplesOf(text, weightOf(text), random))
  let learned = learn(examples, { ...LEARNING, random })
  for (let round = 0; round < MINING_ROUNDS; round++) {
    for (const text of texts) {
      if (text.label === 0) examples.push(...mistaken(text, learned, weightOf(text)))
    }
    // A document whose attack is not located contributes its most suspicious windows, after the
    // first round.
    const located = round === 0 ? texts.filter(({ source }) => source === 'synth_doc') : []
    for (const text of located) examples.push(...suspicious(text, learned, weightOf(text)))
    learned = learn(examples, { ...LEARNING, random })
  }
  const runs = [learned]
  while (runs.length < RUNS) runs.push(learn(examples, { ...LEARNING, random }))
  return average(runs)
}

function examplesOf(text: Material, weight: number, random: Random): Example[] {
  const { label, views, source } = text
  const plain = views[0] as Counted
  if (label === 0) {
    const whole = views.map(({ buckets }) => ({ buckets, label, weight }))
    return [...whole, ...someWindows(plain, weight, random)]
  }
  if (text.plant !== undefined) return plantWindows(text, plain, weight)
  if (source === 'synth_doc') return []
  // A disguised attack is learned from its decoded view; its wrapping is not the attack.
  const view = /obf|disguised/.test(source) ? (views.at(-1) as Counted) : plain
  return [{ buckets: view.buckets, label, weight }]
}

/** Innocent windows at random, about one per two hundred tokens. */
function someWindows(counted: Counted, weight: number, random: Random): Example[] {
  const found: Example[] = []
  for (const size of WINDOW_TOKENS) {
    const last = counted.tokenEnds.length - size
    for (let at = Math.floor(random() * 200); at < last; at += 200) {
      found.push({ buckets: stretch(counted, at, at + size), label: 0, weight: weight * 0.5 })
    }
  }
  return found
}

/** Windows that contain a planted attack, or are contained in it. */
function plantWindows(text: Material, counted: Counted, weight: number): Example[] {
  const { start, end } = text.plant as { start: number; end: number }
  const first = counted.starts.findIndex((offset) => offset >= start)
  const after = counted.starts.findIndex((offset) => offset >= end)
  const stop = after < 0 ? counted.starts.length : after
  const found: Example[] = []
  for (const size of WINDOW_TOKENS) {
    const middle = Math.floor((first + stop) / 2) - Math.floor(size / 2)
    // Long instructions begin with an address; their middle may be anything.
    const places = stop - first > size ? [first, middle] : [middle]
    for (const place of places) {
      const from = Math.max(0, Math.min(counted.starts.length - size, place))
      found.push({
        buckets: stretch(counted, from, Math.min(counted.starts.length, from + size)),
        label: 1,
        weight: (weight * 0.5) / places.length,
      })
    }
  }
  return found
}

interface Window {
  readonly buckets: Int32Array
  readonly margin: number
}

/** Returns the highest windows of a text that do not overlap, best first. */
function bestWindows(counted: Counted, learned: Learned, count: number): Window[] {
  const found: Window[] = []
  const total = counted.tokenEnds.length
  const marginOf = stretchMargins(counted, learned)
  for (const size of WINDOW_TOKENS) {
    const all: { margin: number; from: number; to: number }[] = []
    for (let from = 0; from + size <= total; from += size / 4) {
      all.push({ margin: marginOf(from, from + size), from, to: from + size })
    }
    all.sort((one, other) => other.margin - one.margin)
    const kept: typeof all = []
    for (const window of all) {
      if (kept.length === count) break
      if (kept.every(({ from, to }) => window.to <= from || window.from >= to)) kept.push(window)
    }
    for (const { margin, from, to } of kept) found.push({ margin, buckets: stretch(counted, from, to) })
  }
  return found
}

function mistaken(text: Material, learned: Learned, weight: number): Example[] {
  return text.views.flatMap((view) =>
    bestWindows(view, learned, MINED_PER_TEXT)
      .filter(({ margin }) => margin > MINED_FROM)
      .map(({ buckets }) => ({ buckets, label: 0 as const, weight })),
  )
}

function suspicious(text: Material, learned: Learned, weight: number): Example[] {
  return bestWindows(text.views[0] as Counted, learned, 1)
    .filter(({ margin }) => margin > 0)
    .map(({ buckets }) => ({ buckets, label: 1 as const, weight }))
}

function average(runs: readonly Learned[]): Learned {
  const weights = new Float32Array(BUCKETS)
  let bias = 0
  for (const run of runs) {
    bias += run.bias / runs.length
    for (let bucket = 0; bucket < BUCKETS; bucket++)
      weights[bucket]! += (run.weights[bucket] as number) / runs.length
  }
  return { weights, bias }
}

function main(): void {
  const { values } = parseArgs({
    options: {
      train: { type: 'string' },
      dev: { type: 'string' },
      out: { type: 'string' },
      packages: { type: 'string' },
      seed: { type: 'string', default: '1' },
    },
  })
  const { train: trainPath, dev: devPath, out } = values
  if (trainPath === undefined || devPath === undefined || out === undefined) {
    console.error(
      'usage: injection-train.ts --train train.jsonl --dev dev.jsonl --packages node_modules --out weights.ts [--seed 1]',
    )
    process.exitCode = 2
    return
  }
  const seed = Number(values.seed)
  const texts = material(readRows(trainPath), {
    seed,
    packages: values.packages ?? null,
    families: ALL_FAMILIES,
  })
  const messages = train(texts, 'messages', seed)
  const documents = train(texts, 'documents', seed)
  const model = store(messages, documents, readRows(devPath).map(prepare))
  writeFileSync(out, render(model))
  console.log(`${texts.length} texts learned, model ${model.version}`)
}

if (import.meta.main) main()
