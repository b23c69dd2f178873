// Measures the prompt injection score: the cost of the shipped model, its results on texts written
// apart, and, with the training corpora, how a model does on languages and sources it has not
// learned. Usage: test/training/README.md.

import { createHash } from 'node:crypto'
import { parseArgs } from 'node:util'
import { atOnce } from '../../src/core/steps.ts'
import type { LanguageFigures } from '../../src/detect/injection/language-figures.ts'
import type { StoredTable } from '../../src/detect/injection/model.ts'
import {
  createInjectionModel,
  type InjectionMode,
  type InjectionModel,
  loadInjectionModel,
} from '../../src/detect/injection/score.ts'
import { STORED_MODEL } from '../../src/detect/injection/weights.ts'
import { scoreInjection } from '../../src/pipeline/prompt/injection.ts'
import { CachedScan } from '../../src/pipeline/prompt/scan-cache.ts'
import { TRANSFORMS } from '../detect/injection/transforms.ts'
import { Grammar, type Row } from '../training/corpus.ts'
import { LONG } from '../training/material.ts'
import { createRandom, expand, readPhrases } from '../training/phrases.ts'
import { corpusRows, trainDocuments, trainMessages } from '../training/train.ts'

const LANGUAGES = 'en de fr es it pt nl pl ru uk ro tr ja zh ko hi th ar id vi'.split(' ')
/** Every fourth template, and every third source of long texts, is left out. */
const isHeldTemplate = (index: number) => index % 4 === 1
const isHeldSource = (source: string) => createHash('sha256').update(source).digest()[0]! % 3 === 0
/** Sources of the corpora that are left out one at a time. */
const LEFT_OUT = ['neuralchemy', 'jackhhao', 'bipia_attack_train', 'cse_instruct', 'seed_tasks']
const SHORT_UNITS = 150
/** Share of innocent texts that may be flagged; of fewer than a hundred texts, one. */
const FAIR_SHARE = 0.01
const KILO = 1024
/** Many, because the machine may be shared; the best round counts. */
const ROUNDS = 40

const { values, positionals } = parseArgs({
  options: {
    long: { type: 'string' },
    languages: { type: 'boolean', default: false },
    documents: { type: 'boolean', default: false },
    sources: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})

/** A model for messages; its table for documents is the shipped one. */
const modelOf = (messages: StoredTable): InjectionModel => createInjectionModel({ ...STORED_MODEL, messages })

/** Percent of texts that score at least `least`. */
function share(scores: readonly number[], least: number): number {
  return (100 * scores.filter((score) => score >= least).length) / scores.length
}

function printRow(name: string, scores: readonly number[]): void {
  const shares = [0.5, 0.7, 0.9].map((least) => `${share(scores, least).toFixed(1)} %`)
  console.log(`| ${name} | ${scores.length} | ${shares.join(' | ')} |`)
}

/** Between the messages of a conversation. */
const MESSAGE_BREAK = ' ⏎ '
/** Innocent documents of a long message. */
const LONG_DOCUMENTS = 3

/** Prints how many of the texts written apart are flagged. */
function printWritten(model: InjectionModel): void {
  console.log('\n| texts written apart | rows | ≥ 0.50 | ≥ 0.70 | ≥ 0.90 |\n|---|---|---|---|---|')
  const written = readPhrases('written')
  const documents = written.get('innocent windows ordinary documents') ?? []
  const longTexts = documents.map((_, at) =>
    Array.from({ length: LONG_DOCUMENTS }, (_, next) => documents[(at + 7 * next) % documents.length]).join(
      '\n\n',
    ),
  )
  const whole = (text: string) => model.score(text, 'whole').score
  for (const [heading, texts] of written) {
    const [, label, mode, name] = /^(\w+) (\w+) (.*)$/.exec(heading)!
    const scores =
      mode === 'turns'
        ? texts.map((text) => scoreConversation(text.split(MESSAGE_BREAK), model))
        : mode === 'long'
          ? texts.flatMap((order, at) => planted(longTexts[at % longTexts.length]!, order).map(whole))
          : texts.map((text) => model.score(text, mode as InjectionMode).score)
    printRow(`${label}: ${name}`, scores)
  }
  printRow('innocent: the same long messages', longTexts.map(whole))
}

/** A message with an order before, between and after its sentences. */
function planted(message: string, order: string): string[] {
  const sentences = message.split(/(?<=[.!?]) /)
  return [0, Math.floor(sentences.length / 2), sentences.length].map((at) =>
    sentences.toSpliced(at, 0, order).join(' '),
  )
}

/** Scores the last turn of a conversation as the gateway does. */
function scoreConversation(messages: readonly string[], model: InjectionModel): number {
  const newScan = () => new CachedScan()
  const items = messages.map((view, at) => ({
    text: { path: `messages[${2 * at}]`, role: 'user', owner: null },
    part: 'user' as const,
    view,
    // An answer is between two messages.
    joined: 2 * at,
    cached: newScan(),
  }))
  return atOnce(
    scoreInjection(items, ['user'], { injection: model, openLabels: new Set() }, newScan, newScan),
  ).worst(null).score
}

/** Prints the time per 1,024 characters of several kinds of text, in both modes. */
function printCost(model: InjectionModel): void {
  const random = createRandom(3)
  const letters = (name: string) => {
    const lines = readPhrases(name).get('letter') ?? []
    const text = lines.map((line) => expand(line, random)).join('\n')
    return Array.from({ length: 20 }, (_, at) => flat((text + text).slice(at * 40, at * 40 + KILO)))
  }
  const english = letters('en')
  const cases: (readonly [string, readonly string[]])[] = [
    ...['en', 'de', 'ru', 'ar', 'hi', 'zh', 'th'].map((name) => [`letters, ${name}`, letters(name)] as const),
    [
      'documents of 32 K',
      [
        flat(
          english
            .join('\n')
            .repeat(4)
            .slice(0, 32 * KILO),
        ),
      ],
    ],
    ...TRANSFORMS.map(({ name, apply }) => [name, english.map((text) => flat(apply(text)))] as const),
    ...SLOW.map(
      (piece) => [JSON.stringify(piece), [flat(piece.repeat((64 * KILO) / piece.length))]] as const,
    ),
  ]
  console.log('\n| text | µs per 1,024 characters as a message | as a document |\n|---|---|---|')
  for (const [name, texts] of cases) {
    const costs = (['whole', 'windows'] as const).map((mode) =>
      cost(texts, (text) => model.score(text, mode)),
    )
    console.log(`| ${name} | ${costs.map((micros) => micros.toFixed(1)).join(' | ')} |`)
  }
}

/** Each is hard on another part of the scoring. */
const SLOW = [
  '\u200b',
  '=',
  'a',
  'a ',
  'aбγ漢あ한ก𝒳',
  'a1 ',
  '%41&#66;\\u0043',
  'gur eht 1gn0re 3d ab %41&#66;\\u0043 ',
]

/** Copies a text to a flat string; a slice of a joined text would be a rope. */
function flat(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}

/** Returns the best of several rounds, in microseconds per 1,024 UTF-16 code units. */
function cost(texts: readonly string[], run: (text: string) => unknown): number {
  const units = texts.reduce((sum, text) => sum + text.length, 0)
  let best = Infinity
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now()
    for (const text of texts) run(text)
    best = Math.min(best, performance.now() - start)
  }
  return (best * 1000 * KILO) / units
}

/** Trains without some templates and sources, and prints the figures of each language. */
function printLanguages(rows: readonly Row[]): void {
  const isHeldRow = ({ source, origin }: Row) => source === LONG && isHeldSource(origin ?? '')
  const kept = rows.filter((row) => !isHeldRow(row))
  const model = modelOf(trainMessages(kept, (index) => !isHeldTemplate(index)))
  const grammar = new Grammar(createRandom(99), isHeldTemplate)
  const score = ({ text }: Pick<Row, 'text'>) => model.score(text, 'whole').score
  const prose = rows.filter(isHeldRow)
  const figures = LANGUAGES.map((language): LanguageFigures => {
    const own = prose.filter(({ lang }) => lang === language)
    const long = own.map(score)
    const short = own.map(({ text }) => score({ text: text.slice(0, SHORT_UNITS - 1) }))
    const letters = grammar.letters(language, 200).map(score)
    const steps = Array.from({ length: 20 }, (_, step) => (step + 1) / 20)
    const isFair = (least: number) =>
      [long, short, letters].every(
        (scores) => scores.filter((one) => one >= least).length <= Math.max(1, scores.length * FAIR_SHARE),
      )
    return {
      language,
      short: round(share(short, 0.5)),
      long: round(share(long, 0.5)),
      letters: round(share(letters, 0.5)),
      lookAlikes: round(share(grammar.innocents(language, 200).map(score), 0.5)),
      attacks: round(share(grammar.attacks(language, 200).map(score), 0.5)),
      blockFrom: steps.find((_, at) => steps.slice(at).every(isFair)) ?? 1,
    }
  })
  for (const one of figures) console.log(JSON.stringify(one))
  for (const { blockFrom, ...shares } of figures)
    console.log(`| ${[...Object.values(shares), blockFrom.toFixed(2)].join(' | ')} |`)
}

const round = (percent: number): number => Math.round(percent * 10) / 10

/** Trains the table for documents without a third of the sources of long texts, and scores those. */
function printDocuments(rows: readonly Row[]): void {
  const isHeldRow = ({ source, origin }: Row) => source === LONG && isHeldSource(origin ?? '')
  const model = createInjectionModel({
    ...STORED_MODEL,
    documents: trainDocuments(rows.filter((row) => !isHeldRow(row))),
  })
  console.log('\n| documents never learned | rows | ≥ 0.50 | ≥ 0.70 | ≥ 0.90 |\n|---|---|---|---|---|')
  const held = rows.filter(isHeldRow)
  const print = (name: string, texts: readonly Row[]) =>
    printRow(
      name,
      texts.map(({ text }) => model.score(text, 'windows').score),
    )
  print('all', held)
  for (const origin of new Set(held.map((row) => row.origin ?? '')))
    print(
      origin,
      held.filter((row) => row.origin === origin),
    )
  for (const language of LANGUAGES)
    print(
      language,
      held.filter(({ lang }) => lang === language),
    )
  for (const [heading, texts] of readPhrases('written'))
    if (heading.split(' ')[1] === 'windows')
      printRow(
        heading,
        texts.map((text) => model.score(text, 'windows').score),
      )
}

/** Trains without one source at a time, and prints the results on that source. */
function printSources(rows: readonly Row[]): void {
  console.log('\n| source left out | rows | ≥ 0.50 | ≥ 0.70 | ≥ 0.90 |\n|---|---|---|---|---|')
  for (const source of LEFT_OUT) {
    const model = modelOf(trainMessages(rows.filter((row) => row.source !== source)))
    for (const label of [0, 1]) {
      const held = rows.filter((row) => row.source === source && row.label === label)
      if (held.length === 0) continue
      printRow(
        `${source}, ${label === 1 ? 'attacks' : 'innocent'}`,
        held.map(({ text }) => model.score(text, 'whole').score),
      )
    }
  }
}

const shipped = loadInjectionModel()
console.log(`model ${shipped.version}`)
printWritten(shipped)
printCost(shipped)
if (values.languages) printLanguages(corpusRows(positionals, values.long ?? ''))
if (values.documents) printDocuments(corpusRows(positionals, values.long ?? ''))
if (values.sources) printSources(corpusRows(positionals, values.long ?? ''))
