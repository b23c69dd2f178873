// Turns what was learned into the model that ships: weights rounded to bytes, centres put by development texts, the file's text.

import { createHash } from 'node:crypto'
import { FEATURE_FORM } from '../../src/detect/injection/features.ts'
import type { StoredModel, StoredTable } from '../../src/detect/injection/model.ts'
import { WINDOW_TOKENS } from '../../src/detect/injection/weigh.ts'
import type { Material } from './injection-corpus.ts'
import { type Counted, type Learned, margin, stretchMargins } from './injection-learn.ts'

/** Share of innocent development texts above the threshold, as whole texts and by their best window. */
const FALSE_ALARMS = { whole: 0.005, window: 0.005 }
/** Added to the centres: texts from elsewhere look more suspicious than those of known sources. From the held-out tables. */
const SAFETY_MARGIN = { messages: 0.5, documents: 0.35 }
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
function bestMargin(counted: Counted, learned: Learned): number {
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

/** The text of weights.ts. */
export function render(model: StoredModel): string {
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
