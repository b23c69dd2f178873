// Makes all rows of the training, and from them the examples of the two weight tables.

import { scaleOf } from '../../src/detect/injection/features.ts'
import { CHARACTER_WINDOW_TOKENS, WINDOW_TOKENS } from '../../src/detect/injection/weigh.ts'
import {
  type Chosen,
  contactRows,
  disguisedRows,
  Grammar,
  joinedRows,
  mistypedRows,
  type Row,
} from './corpus.ts'
import { distinct, type KeyedText, keyViews, slice } from './keyed-text.ts'
import type { Example, Learned } from './logistic.ts'
import { pick, type Random } from './phrases.ts'

/** A row with its views as keys, the plain one first. */
export interface Material extends Row {
  readonly views: readonly KeyedText[]
}

/** Long innocent texts, whole and in slices. */
export const LONG = 'long'
/** Languages that every kind of sentence is made in. */
const MAIN = new Set('en de fr es it pt nl pl ru uk ro tr ja zh ko hi th ar id vi'.split(' '))
const LANGUAGE_WEIGHTS: Readonly<Record<string, number>> = { th: 2, hi: 1.5, ja: 1.5 }
/** Attacks in languages in which few of them are found otherwise. */
const ATTACK_WEIGHTS: Readonly<Record<string, number>> = { hi: 2, ja: 2, th: 2, tr: 2 }
/** In messages; in documents a long innocent text counts in full. */
const LONG_WEIGHT = 0.5
/** A longer innocent text has one random window of each size in so many tokens. */
const TOKENS_PER_WINDOW = 60
/** Sizes of the windows that the table for documents learns: an order and what surrounds it. */
const LEARNED_TOKENS = [WINDOW_TOKENS[1], CHARACTER_WINDOW_TOKENS] as const
const SLICE_TOKENS = [96, 24, 10] as const
const SLICES_MAX = 3

const MESSAGE_WEIGHTS: Readonly<Record<string, number>> = {
  bipia_attack_train: 4,
  jackhhao: 2,
  own_format: 3,
  own_weave: 0.7,
  // Instructions to who reads a document are no messages.
  own_errand: 0,
  own_written_errand: 0,
  own_foreign_errand: 0,
  own_response: 0,
  own_notice: 0.5,
  planted: 0,
  synth_doc: 0,
}

const DOCUMENT_WEIGHTS: Readonly<Record<string, number>> = {
  bipia_attack_train: 0.5,
  jackhhao: 0,
  own_steering: 0,
  own_format: 0.3,
  own_weave: 0.3,
  own_response: 0.3,
  own_errand: 3,
  own_written_errand: 3,
  own_foreign_errand: 2,
  own_indirect: 2,
  own_orders: 3,
  own_order: 2,
  own_notice: 3,
  own_paper: 2,
  // In a document the quoted order counts.
  own_chapter: 0.1,
  synth_doc: 0,
  disguised: 0.5,
}
/** Shorter innocent texts are requests rather than documents, UTF-16 code units. */
const REQUEST_UNITS = 250
const REQUEST_IN_DOCUMENT = 0.3

const JOINED = 8000
const PLANTED = 20_000
const PLANTED_ERRANDS = 12_000
/** Papers of each language. */
const PAPERS = 600

/**
 * Whether the table for messages may learn from a row, or count its features. Papers would cost it
 * every seventh attack of templates never seen.
 */
export const isForMessages = ({ source }: Row): boolean => source !== 'own_paper'

/**
 * All rows: those of the corpora, and those made from the chosen templates. Papers come last, from
 * a random stream of their own, so that they cannot change the table for messages.
 */
export function allRows(corpus: readonly Row[], chosen: Chosen, random: Random, paperRandom: Random): Row[] {
  const grammar = new Grammar(random, chosen)
  const own = [
    ...grammar.english('direct', 4000, 1),
    ...grammar.english('asking', 2500, 1),
    ...grammar.english('indirect', 2500, 1),
    ...grammar.english('weave', 1500, 1),
    ...grammar.english('response', 1500, 1),
    ...grammar.english('errand', 4000, 1),
    ...grammar.english('written errand', 1000, 1),
    ...grammar.english('benign', 6000, 0),
    ...grammar.english('harmless', 4000, 0),
    ...grammar.english('everyday', 3000, 0),
    ...grammar.english('steering', 3000, 0),
    ...grammar.english('smalltalk', 1500, 0),
    ...grammar.english('code', 1500, 0),
    ...grammar.english('drama', 800, 0),
    ...grammar.english('order', 2500, 0),
    ...grammar.orders('en', 2500),
    ...grammar.format(4500),
    ...grammar.languages.flatMap((name) => {
      const share = MAIN.has(name) ? 1 : 0.3
      return [
        ...grammar.attacks(name, 500 * share),
        ...grammar.innocents(name, 500 * share),
        ...grammar.letters(name, 150),
        ...grammar.orders(name, 120),
        ...grammar.errands(name, 600),
        ...grammar.notices(name, 300),
        ...grammar.chapters(name, 250),
      ]
    }),
    ...contactRows(1800, random),
  ]
  const attacks = own.filter(
    ({ label, text, source }) =>
      label === 1 && text.length < 300 && source !== 'own_response' && !/errand|weave/.test(source),
  )
  const benign = [...own, ...corpus]
    .filter(({ label, source }) => label === 0 && !/obf|contacts/.test(source))
    .map((row) => ({ ...row, text: row.text.slice(0, 400) }))
  const short = [...own, ...corpus].filter(
    ({ text, source }) => text.length < 300 && !/obf|response|errand|weave|bipia/.test(source),
  )
  const made = [
    ...joinedRows(attacks, benign, JOINED, random),
    ...disguisedRows(short, 3000, random),
    ...mistypedRows(short, 5000, random),
    ...plantedRows([...corpus, ...own], grammar, PLANTED, random),
    ...plantedErrands([...corpus, ...own], grammar, PLANTED_ERRANDS, random),
  ]
  const ofPapers = new Grammar(paperRandom, chosen)
  const papers = ofPapers.languages.flatMap((name) => ofPapers.papers(name, PAPERS))
  const seen = new Set<string>()
  return [...corpus, ...own, ...made, ...papers].filter(({ text }) => !seen.has(text) && seen.add(text))
}

/** Share of planted attacks that first override what came before. */
const COMBINED_SHARE = 0.4

/** Plants attacks between two sentences of innocent documents. */
function plantedRows(rows: readonly Row[], grammar: Grammar, count: number, random: Random): Row[] {
  const carriers = rows.filter(
    ({ label, text, source }) => label === 0 && text.length > 250 && !/obf|contacts|letter/.test(source),
  )
  const attacks = rows.filter(
    ({ label, text, source }) =>
      label === 1 &&
      text.length < 400 &&
      source !== 'own_foreign_errand' &&
      /errand|indirect|own_attack|own_direct|synth_(?:direct|ml)/.test(source),
  )
  const overrides = grammar.english('override', 800, 1)
  return Array.from({ length: count }, () => {
    const errand = pick(attacks, random).text
    const isCombined = random() < COMBINED_SHARE
    const attack = isCombined ? `${pick(overrides, random).text} ${errand}` : errand
    return plant(attack, pick(carriers, random).text, random)
  })
}

/** Plants instructions to assistants in innocent documents of the same language. */
function plantedErrands(rows: readonly Row[], grammar: Grammar, count: number, random: Random): Row[] {
  const languages = grammar.languages.flatMap((name) => {
    const own = rows.filter(({ lang }) => lang === name)
    const errands = own.filter(({ source }) => source === 'own_foreign_errand')
    const carriers = own.filter(
      ({ label, text, source }) => label === 0 && text.length > 200 && source !== 'own_chapter',
    )
    return errands.length === 0 || carriers.length === 0 ? [] : [{ errands, carriers }]
  })
  return Array.from({ length: count }, () => {
    const { errands, carriers } = pick(languages, random)
    return plant(pick(errands, random).text, pick(carriers, random).text, random)
  })
}

/** Puts an attack between two sentences of a part of a document. */
function plant(attack: string, document: string, random: Random): Row {
  const from = Math.floor(random() * Math.max(1, document.length - 600))
  const carrier = document.slice(from, from + 600)
  const place = 100 + Math.floor(random() * (carrier.length - 150))
  const border = carrier.slice(place).search(/[.!?\n。]\s?/)
  const at = border < 0 ? carrier.length : place + border + 1
  const glue = pick([' ', '\n', '\n\n', ' '], random)
  const head = carrier.slice(0, at) + glue
  return {
    text: head + attack + glue + carrier.slice(at),
    label: 1,
    source: 'planted',
    plant: { start: head.length, end: head.length + attack.length },
  }
}

export function prepare(row: Row): Material {
  return { ...row, views: keyViews(row.text) }
}

/** Examples for messages: whole texts, each feature once. */
export function messageExamples(texts: readonly Material[], random: Random): Example[] {
  return texts.flatMap((text) => {
    const { label, source, views, lang } = text
    const plain = views[0] as KeyedText
    if (source === LONG) {
      const weight = LONG_WEIGHT * (LANGUAGE_WEIGHTS[lang ?? ''] ?? 1)
      return [distinct(plain.keys), ...slices(plain, random).map(distinct)].map((keys) => ({
        keys,
        label,
        weight,
      }))
    }
    const weight =
      (MESSAGE_WEIGHTS[source] ?? 1) * (source === 'own_attack' ? (ATTACK_WEIGHTS[lang ?? ''] ?? 1) : 1)
    if (weight === 0) return []
    // A disguised attack is learned from its decoded view; its wrapping is not the attack.
    const shown = label === 0 ? views : [/obf|disguised/.test(source) ? views.at(-1)! : plain]
    return shown.map(({ keys }) => ({ keys: distinct(keys), label, weight }))
  })
}

/** Slices of a long text at random, as many of each size as it has, at most SLICES_MAX. */
function slices(text: KeyedText, random: Random): Int32Array[] {
  const length = text.ends.length
  return SLICE_TOKENS.flatMap((size) =>
    Array.from({ length: Math.max(1, Math.min(SLICES_MAX, Math.floor(length / size))) }, () => {
      const from = Math.floor(random() * Math.max(1, length - size))
      return slice(text, from, Math.min(length, from + size))
    }),
  )
}

/** Examples for documents: windows, with or without an attack. */
export function documentExamples(texts: readonly Material[], random: Random): Example[] {
  return texts.flatMap((text): Example[] => {
    const { label, source, views, lang, plant } = text
    const plain = views[0] as KeyedText
    const weight =
      source === LONG
        ? (LANGUAGE_WEIGHTS[lang ?? ''] ?? 1)
        : (DOCUMENT_WEIGHTS[source] ??
          (label === 0 && text.text.length < REQUEST_UNITS ? REQUEST_IN_DOCUMENT : 1))
    if (weight === 0) return []
    if (plant !== undefined) return plantWindows(plain, plant).map((keys) => ({ keys, label, weight }))
    if (label === 1) {
      const { keys, ends } = /obf|disguised/.test(source) ? views.at(-1)! : plain
      if (ends.length <= LEARNED_TOKENS[1]) return [{ keys, label, weight }]
      if (source !== 'own_foreign_errand') return []
      return passagesOf(plain, random).map((keys) => ({ keys, label, weight }))
    }
    return views.flatMap((view) => randomWindows(view, random).map((keys) => ({ keys, label, weight })))
  })
}

/** The whole of a short text, and windows of a longer one. */
function randomWindows(text: KeyedText, random: Random): Int32Array[] {
  const length = text.ends.length
  return LEARNED_TOKENS.flatMap((size, index) => {
    if (length <= size) return index === 0 || length > LEARNED_TOKENS[0] ? [text.keys] : []
    return Array.from({ length: Math.ceil(length / TOKENS_PER_WINDOW) }, () => {
      const from = Math.floor(random() * (length - size))
      return slice(text, from, from + size)
    })
  })
}

/** Windows of a long instruction, such as one in a script without spaces. */
function passagesOf(text: KeyedText, random: Random): Int32Array[] {
  const size = LEARNED_TOKENS[1]
  const length = text.ends.length
  return Array.from({ length: Math.ceil(length / size) }, () => {
    const from = Math.floor(random() * (length - size + 1))
    return slice(text, from, from + size)
  })
}

/** The windows in the middle of a planted attack. */
function plantWindows(text: KeyedText, { start, end }: NonNullable<Row['plant']>): Int32Array[] {
  const length = text.ends.length
  const first = text.starts.findIndex((offset) => offset >= start)
  const after = text.starts.findIndex((offset) => offset >= end)
  const middle = Math.floor((first + (after < 0 ? length : after)) / 2)
  return LEARNED_TOKENS.map((size) => {
    const from = Math.max(0, Math.min(length - size, middle - size / 2))
    return slice(text, from, Math.min(length, from + size))
  })
}

/** Maximum windows of one innocent text that are added in one round. */
const MINED_PER_TEXT = 4
/** Margin from which an innocent window is suspicious. */
const MINED_FROM = -2

/** The innocent windows that look like attacks, at most MINED_PER_TEXT of a text. */
export function suspiciousWindows(texts: readonly Material[], learned: Learned): Example[] {
  return texts.flatMap(({ label, source, views, lang }) => {
    if (label === 1) return []
    const weight = source === LONG ? (LANGUAGE_WEIGHTS[lang ?? ''] ?? 1) : (DOCUMENT_WEIGHTS[source] ?? 1)
    if (weight === 0) return []
    return views.flatMap((view) =>
      LEARNED_TOKENS.flatMap((size) =>
        windowsOf(view, size, learned)
          .filter(({ margin }) => margin > MINED_FROM)
          .sort((one, other) => other.margin - one.margin)
          .slice(0, MINED_PER_TEXT)
          .map(({ keys }) => ({ keys, label, weight })),
      ),
    )
  })
}

/** Windows that begin a quarter of their size apart, with their margins. */
function windowsOf(view: KeyedText, size: number, learned: Learned): { keys: Int32Array; margin: number }[] {
  const length = view.ends.length
  const marginOfTokens = windowMargins(view, learned)
  const found = []
  for (let from = 0; from === 0 || from + size <= length; from += size / 4) {
    const to = Math.min(length, from + size)
    found.push({ keys: slice(view, from, to), margin: marginOfTokens(from, to) })
  }
  return found
}

/** Returns a function for the margin of tokens [from, to), which uses cumulative sums. */
function windowMargins(
  { keys, ends }: KeyedText,
  { weights, bias }: Learned,
): (from: number, to: number) => number {
  const sums = new Float64Array(ends.length + 1)
  const counts = new Int32Array(ends.length + 1)
  let at = 0
  let sum = 0
  let count = 0
  for (const [token, end] of ends.entries()) {
    for (; at < end; at++) {
      const weight = weights[keys[at] as number] as number
      sum += weight
      if (weight !== 0) count++
    }
    sums[token + 1] = sum
    counts[token + 1] = count
  }
  return (from, to) => bias + (sums[to]! - sums[from]!) * scaleOf(counts[to]! - counts[from]!)
}
