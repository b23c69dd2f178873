// Learns the weights of src/detect/injection and writes its weights.ts. Deterministic: the same corpora, seed and Node
// give the same file. Usage: see src/detect/injection/README.md.

import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { BUCKETS, FEATURE_FORM } from '../../src/detect/injection/features.ts'
import type { StoredModel, StoredTable } from '../../src/detect/injection/model.ts'
import { WINDOW_TOKENS } from '../../src/detect/injection/scan.ts'
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
} from './injection-corpus.ts'
import { ALL_FAMILIES, type Families } from './injection-grammar.ts'
import {
  type Counted,
  createRandom,
  type Example,
  type Learned,
  learn,
  margin,
  type Random,
  stretch,
  stretchMargins,
} from './injection-learn.ts'

/** A source with more rows than this is held down, so that no single one decides. */
const SOURCE_ROWS = 1500
const MAX_SOURCE_WEIGHT = 2
/** Rounds of looking for innocent windows that look like attacks, and learning them. */
const MINING_ROUNDS = 4
/** Such windows taken from one text in one round. */
const MINED_PER_TEXT = 5
/** Margin from which an innocent window is suspicious. */
const MINED_FROM = -2.5
/** Learning runs with other orders whose weights are averaged. */
const RUNS = 4
/** How much demands on the answer count as attacks when a user makes them. */
const DEMAND_IN_MESSAGE = 0.1
/** Bare demands on the answer are hardly to be told from what documents ask of people. */
const DEMAND_IN_DOCUMENT = 0.3
/** What documents tell people is learned with emphasis: it is all that lies between the two. */
const ORDERS_WEIGHT = { messages: 3, documents: 5 }
/** What users try on a model stands in documents as well, but seldom alone. */
const DIRECT_IN_DOCUMENT = 0.8
/** As much do what documents tell an assistant: most of it is open about it. */
const ERRAND_IN_MESSAGE = 0.1
/** What documents tell an assistant is what the table for documents is for. */
const ERRAND_IN_DOCUMENT = 6
/** How much everyday requests count as innocent when they stand in a document. */
const REQUEST_IN_DOCUMENT = 0.3
/** Innocent texts below, in UTF-16 code units, are requests rather than documents. */
const SHORT_TEXT = 250
const LEARNING = { epochs: 5, rate: 0.25, decay: 4e-4 }

export interface Settings {
  readonly seed: number
  /** A node_modules folder whose MIT and BSD packages are innocent text, or none. */
  readonly packages: string | null
  /** What sentences of our own are made from. */
  readonly families: Families
}

/** All texts that are learned from. */
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
  return [...all, ...made].map(prepare)
}

/** What a table is for; see StoredModel. */
export type Purpose = 'messages' | 'documents'

/** A user may well ask for what a document may not demand, and a document may quote what users ask. */
function purposeWeight(purpose: Purpose, { source, label, text }: Material): number {
  const demand = /own_response|bipia_attack|planted_response/.test(source)
  const orders = label === 0 && /order/.test(source)
  if (orders) return ORDERS_WEIGHT[purpose]
  if (purpose === 'messages') {
    if (/errand/.test(source)) return ERRAND_IN_MESSAGE
    return demand ? DEMAND_IN_MESSAGE : 1
  }
  if (demand) return DEMAND_IN_DOCUMENT
  if (label === 1 && /errand/.test(source)) return ERRAND_IN_DOCUMENT
  if (label === 1 && !/errand|indirect|doc|planted/.test(source)) return DIRECT_IN_DOCUMENT
  return label === 0 && text.length < SHORT_TEXT ? REQUEST_IN_DOCUMENT : 1
}

/** Learns in rounds: first what is known to be attack or innocent, then the windows that were mistaken. */
export function train(texts: readonly Material[], purpose: Purpose, seed: number): Learned {
  const random = createRandom(seed + 1)
  const weightOf = weigh(texts, purpose)
  const examples = texts.flatMap((text) => examplesOf(text, weightOf(text), random))
  let learned = learn(examples, { ...LEARNING, random })
  for (let round = 0; round < MINING_ROUNDS; round++) {
    for (const text of texts) {
      if (text.label === 0) examples.push(...mistaken(text, learned, weightOf(text)))
    }
    // Documents whose attack is not located teach by their most suspicious windows, once there is a suspicion.
    const located = round === 0 ? texts.filter(({ source }) => source === 'synth_doc') : []
    for (const text of located) examples.push(...suspicious(text, learned, weightOf(text)))
    learned = learn(examples, { ...LEARNING, random })
  }
  const runs = [learned]
  while (runs.length < RUNS) runs.push(learn(examples, { ...LEARNING, random }))
  return average(runs)
}

function weigh(texts: readonly Material[], purpose: Purpose): (text: Material) => number {
  const counts = new Map<string, number>()
  for (const { source } of texts) counts.set(source, (counts.get(source) ?? 0) + 1)
  return (text) => {
    const count = counts.get(text.source) as number
    return Math.min(MAX_SOURCE_WEIGHT, Math.sqrt(SOURCE_ROWS / count)) * purposeWeight(purpose, text)
  }
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
  // Of a disguised attack the undisguised view teaches; its wrapping is not the attack.
  const view = /obf|disguised/.test(source) ? (views.at(-1) as Counted) : plain
  return [{ buckets: view.buckets, label, weight }]
}

/** Innocent windows as they come: about one for every two hundred tokens. */
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

/** Windows that a planted attack lies in, or that lie in it. */
function plantWindows(text: Material, counted: Counted, weight: number): Example[] {
  const { start, end } = text.plant as { start: number; end: number }
  const first = counted.starts.findIndex((offset) => offset >= start)
  const after = counted.starts.findIndex((offset) => offset >= end)
  const stop = after < 0 ? counted.starts.length : after
  const found: Example[] = []
  for (const size of WINDOW_TOKENS) {
    const middle = Math.floor((first + stop) / 2) - Math.floor(size / 2)
    // Long instructions begin with whom they speak to; the middle may be anything.
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

/** The highest windows of a text that do not overlap, best first. */
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

/** Share of innocent development texts above the threshold, as whole texts and by their best window. */
const FALSE_ALARMS = { whole: 0.005, window: 0.005 }
/** Added to the centres: texts from elsewhere look more suspicious than those of known sources. From the held-out tables. */
const SAFETY_MARGIN = { messages: 0.5, documents: 0.25 }
/** Largest weight that is kept, as a share of all weights in use: the few beyond are clipped to spare the rest precision. */
const CLIP_QUANTILE = 0.9995
const LARGEST_STEP = 127

/** Rounds to bytes and puts the centres where the development texts say. */
export function store(messages: Learned, documents: Learned, development: readonly Material[]): StoredModel {
  const tables = {
    messages: storeTable(messages, SAFETY_MARGIN.messages, development),
    documents: storeTable(documents, SAFETY_MARGIN.documents, development),
  }
  const digest = createHash('sha256')
    .update(tables.messages.weights)
    .update(tables.documents.weights)
    .digest('hex')
  return {
    version: `${FEATURE_FORM}-${digest.slice(0, 12)}`,
    featureForm: FEATURE_FORM,
    threshold: 0.5,
    slope: 1,
    ...tables,
  }
}

function storeTable(learned: Learned, safety: number, development: readonly Material[]): StoredTable {
  const used = learned.weights
    .filter((weight) => weight !== 0)
    .map(Math.abs)
    .sort()
  const scale = (used[Math.floor(used.length * CLIP_QUANTILE)] as number) / LARGEST_STEP
  const steps = Int8Array.from(learned.weights, (weight) =>
    Math.max(-LARGEST_STEP, Math.min(LARGEST_STEP, Math.round(weight / scale))),
  )
  const rounded: Learned = { weights: Float32Array.from(steps, (step) => step * scale), bias: 0 }
  const innocent = development.filter(({ label }) => label === 0)
  const wholes = innocent.map(({ views }) =>
    Math.max(...views.map(({ buckets }) => margin(rounded, buckets))),
  )
  const windows = innocent.map(({ views }) => Math.max(...views.map((view) => bestMargin(view, rounded))))
  return {
    scale: round(scale),
    wholeCentre: round(topShare(wholes, FALSE_ALARMS.whole) + safety),
    windowCentre: round(topShare(windows, FALSE_ALARMS.window) + safety),
    weights: Buffer.from(steps.buffer).toString('base64'),
  }
}

/** Best window as the scanner looks for it, every two tokens. */
export function bestMargin(counted: Counted, learned: Learned): number {
  const total = counted.tokenEnds.length
  const marginOf = stretchMargins(counted, learned)
  let best = -Infinity
  for (const size of WINDOW_TOKENS) {
    const length = Math.min(size, total)
    for (let to = length; to <= total; to += 2) best = Math.max(best, marginOf(to - length, to))
    best = Math.max(best, marginOf(total - length, total))
  }
  return best
}

function topShare(values: number[], share: number): number {
  const sorted = values.sort((one, other) => other - one)
  return sorted[Math.floor(sorted.length * share)] as number
}

function round(value: number): number {
  return Number(value.toPrecision(8))
}

function render(model: StoredModel): string {
  const json = JSON.stringify(model, null, 2)
  return `// Made by test/bench/injection-train.ts; not to be edited. Sources and licences: README.md in this folder.

import type { StoredModel } from './model.ts'

export const STORED_MODEL: StoredModel = ${json
    .replaceAll(/"([a-zA-Z]+)":/g, '$1:')
    .replaceAll('weights: "', 'weights:\n      "')
    .replaceAll('"', "'")
    .replaceAll(/(['\d])\n/g, '$1,\n')
    .replaceAll('}\n', '},\n')}
`
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
