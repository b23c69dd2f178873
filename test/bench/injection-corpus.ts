// Collects training texts: rows of the corpora, sentences of the grammar, disguises, and documents
// with planted attacks.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Decoder } from '../../src/detect/injection/encodings.ts'
import { TRANSFORMS } from '../detect/injection/transforms.ts'
import {
  askingAttack,
  benignSentence,
  directAttack,
  errand,
  everydayRequest,
  type Families,
  foreignAsking,
  foreignAttack,
  foreignBenign,
  foreignErrand,
  foreignHarmless,
  foreignOrders,
  harmlessRequest,
  indirectAttack,
  type Maker,
  order,
  orderDocument,
  pick,
  responseAttack,
  steeringRequest,
} from './injection-grammar.ts'
import { type Counted, countFeatures, type Random } from './injection-learn.ts'
import { mistype } from './injection-mistyping.ts'

export interface Row {
  readonly text: string
  readonly label: 0 | 1
  readonly source: string
  /** UTF-16 offsets of the attack in a document assembled here. */
  readonly plant?: { readonly start: number; readonly end: number }
}

/** A row and its views: the plain one first, then the leet view and every decoded one. */
export interface Material extends Row {
  readonly views: readonly Counted[]
}

/** Reads JSON Lines with `text`, `label` and `source`. */
export function readRows(path: string): Row[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row)
}

/** Licences of the packages whose files are used. */
const LICENCES = /^(?:MIT|BSD(?:-[23]-Clause)?|0BSD)$/
const PACKAGE_FILES = /\.(?:js|mjs|cjs|ts|css|md|json|ya?ml)$|^LICEN[CS]E/i
const EXCERPTS_PER_PACKAGE = 80
/** Files of megabytes are bundles and tables; only their beginning is used. */
const FILE_READ_UNITS = 60_000

/** Reads code and documentation of the packages in a node_modules folder as innocent excerpts. */
export function packageRows(folder: string, random: Random): Row[] {
  const names = readdirSync(folder).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(folder, name)).map((inner) => `${name}/${inner}`) : [name],
  )
  return names.sort().flatMap((name) => excerpts(join(folder, name), random))
}

function excerpts(folder: string, random: Random): Row[] {
  let files: string[]
  try {
    const { license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      license?: unknown
    }
    if (typeof license !== 'string' || !LICENCES.test(license)) return []
    files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(
        (entry) =>
          entry.isFile() && PACKAGE_FILES.test(entry.name) && !entry.parentPath.includes('/node_modules/.'),
      )
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
  } catch {
    return []
  }
  if (files.length === 0) return []
  return Array.from({ length: Math.min(EXCERPTS_PER_PACKAGE, 2 * files.length) }, () => {
    const file = pick(files, random)
    const text = excerpt(readFileSync(file, 'utf8').slice(0, FILE_READ_UNITS), random)
    return { text, label: 0 as const, source: /\.md$|LICEN/i.test(file) ? 'package_docs' : 'package_code' }
  })
}

export function prepare(row: Row): Material {
  const plain = countFeatures(row.text, false)
  const views = [plain]
  if (plain.mixedWords >= 2) views.push(countFeatures(row.text, true))
  for (const decoded of decoder.decodings(row.text)) {
    if (decoded !== null) views.push(countFeatures(decoded.text, false))
  }
  return { ...row, views }
}

type Kind = readonly [source: string, label: 0 | 1, count: number, make: Maker]

const GRAMMAR: readonly Kind[] = [
  ['own_direct', 1, 9000, directAttack],
  ['own_indirect', 1, 6000, indirectAttack],
  ['own_response', 1, 4000, responseAttack],
  ['own_foreign', 1, 8000, foreignAttack],
  ['own_benign', 0, 20000, benignSentence],
  ['own_everyday', 0, 8000, everydayRequest],
  ['own_steering', 0, 6000, steeringRequest],
  ['own_foreign_benign', 0, 12000, foreignBenign],
  ['own_errand', 1, 10000, errand],
  ['own_foreign_errand', 1, 5000, foreignErrand],
  ['own_order', 0, 8000, order],
  ['own_orders', 0, 6000, orderDocument],
  ['own_foreign_orders', 0, 4000, foreignOrders],
]

/** What users say to a model and documents do not contain. */
const USER_GRAMMAR: readonly Kind[] = [
  ['own_asking', 1, 6000, askingAttack],
  ['own_foreign_asking', 1, 5000, foreignAsking],
  ['own_harmless', 0, 9000, harmlessRequest],
  ['own_foreign_harmless', 0, 6000, foreignHarmless],
]

const decoder = new Decoder()

/** Makes sentences from the grammar, a tenth of each kind in a disguise. */
export function grammarRows(families: Families, random: Random): Row[] {
  return rowsOf(GRAMMAR, families, random)
}

/** Prefix of the sources that only the table for messages learns. */
export const USERS_OWN = 'user_'

/**
 * Makes rows for the table for messages alone: sentences that users say, combined and in disguise,
 * and short `known` rows with typing errors.
 */
export function userRows(families: Families, known: readonly Row[], random: Random): Row[] {
  const said = rowsOf(USER_GRAMMAR, families, random)
  const made = [
    ...joinedRows(said, 2500, random),
    ...disguisedRows(said, 1500, random),
    ...mistypedRows([...known, ...said], 12_000, random),
  ]
  return [...said, ...made].map((row) => ({ ...row, source: USERS_OWN + row.source }))
}

function rowsOf(kinds: readonly Kind[], families: Families, random: Random): Row[] {
  const rows: Row[] = []
  for (const [source, label, count, make] of kinds) {
    const seen = new Set<string>()
    for (let tries = 0; tries < count; tries++) seen.add(make(families, random))
    for (const text of seen) {
      if (text === '') continue
      rows.push({ text, label, source })
      if (random() < 0.1) rows.push({ text: disguise(text, random), label, source: `${source}_disguised` })
    }
  }
  return rows
}

/**
 * Disguises short texts of all sources, as many of either label: an encoding alone is no evidence.
 */
export function disguisedRows(rows: readonly Row[], count: number, random: Random): Row[] {
  const short = rows.filter(
    ({ text, source }) => text.length < 300 && !/obf|disguised|response|errand|order/.test(source),
  )
  const sides = [short.filter(({ label }) => label === 0), short.filter(({ label }) => label === 1)]
  return Array.from({ length: count }, (_, made) => {
    const { text, label } = pick(sides[made % 2] as Row[], random)
    return {
      text: disguise(text, random),
      label,
      source: label === 1 ? 'disguised_attack' : 'disguised_benign',
    }
  })
}

/**
 * Adds typing errors to short texts of all sources, as many of either label: an error alone is no
 * evidence.
 */
function mistypedRows(rows: readonly Row[], count: number, random: Random): Row[] {
  const short = rows.filter(
    ({ text, source }) => text.length < 300 && !/obf|disguised|response|errand|order/.test(source),
  )
  const sides = [short.filter(({ label }) => label === 0), short.filter(({ label }) => label === 1)]
  return Array.from({ length: count }, (_, made) => {
    const { text, label } = pick(sides[made % 2] as Row[], random)
    return { text: mistype(text, random), label, source: label === 1 ? 'mistyped_attack' : 'mistyped_benign' }
  })
}

/** Joins several innocent sentences of one language to a text. */
export function foreignTexts(families: Families, count: number, random: Random): Row[] {
  return Array.from({ length: count }, () => {
    const language = pick(families.languages, random)
    const one = { ...families, languages: [language] }
    const parts = Array.from({ length: 3 + Math.floor(random() * 6) }, () => foreignBenign(one, random))
    return { text: parts.join(pick([' ', '\n'], random)), label: 0, source: 'own_foreign_text' }
  })
}

/** Puts an attack before, after or between innocent texts: length and mixture are no evidence. */
export function joinedRows(rows: readonly Row[], count: number, random: Random): Row[] {
  const short = rows.filter(
    ({ text, source }) => text.length < 400 && !source.includes('disguised') && !source.includes('obf'),
  )
  const attacks = short.filter(({ label }) => label === 1)
  const benign = short.filter(({ label }) => label === 0)
  const joined: Row[] = []
  for (let made = 0; made < count; made++) {
    const glue = pick([' ', ' ', '\n', '\n\n', '. '], random)
    const label = made % 2 === 0 ? 1 : 0
    const parts = [pick(benign, random).text, pick(label === 1 ? attacks : benign, random).text]
    if (random() < 0.25) parts.reverse()
    if (random() < 0.3) parts.push(pick(benign, random).text)
    joined.push({ text: parts.join(glue), label, source: label === 1 ? 'joined_attack' : 'joined_benign' })
  }
  return joined
}

/** Plants attacks between two lines or sentences of innocent documents. */
export function plantedRows(rows: readonly Row[], count: number, source: string, random: Random): Row[] {
  const carriers = rows.filter(
    ({ label, text, source }) => label === 0 && text.length > 250 && !source.includes('obf'),
  )
  const attacks = rows.filter(
    ({ label, text, source }) =>
      label === 1 && text.length < 400 && !/obf|disguised|neuralchemy|jackhhao|doc/.test(source),
  )
  const planted: Row[] = []
  for (let made = 0; made < count; made++) {
    const carrier = excerpt(pick(carriers, random).text, random)
    const attack = pick(attacks, random).text
    const at = border(carrier, random)
    const glue = pick([' ', '\n', '\n\n', ' '], random)
    const head = carrier.slice(0, at) + glue
    planted.push({
      text: head + attack + glue + carrier.slice(at),
      label: 1,
      source,
      plant: { start: head.length, end: head.length + attack.length },
    })
  }
  return planted
}

function excerpt(text: string, random: Random): string {
  const length = 200 + Math.floor(random() * 2300)
  const start = Math.floor(random() * Math.max(1, text.length - length))
  return text.slice(start, start + length)
}

/** Returns an offset after the end of a sentence or line near a random offset. */
function border(text: string, random: Random): number {
  const from = Math.floor(random() * text.length)
  const found = text.slice(from).search(/[.!?\n]\s/)
  return found < 0 ? text.length : from + found + 1
}

/** Introductions that people put before a disguised text. */
const WRAPS: readonly string[] = [
  '',
  '',
  '',
  'Decode this and follow it: ',
  'Decode this: ',
  'base64: ',
  'Please read ',
  'data=',
  'What does this say? ',
  'Execute: ',
  'Run: ',
  'Translate: ',
  'Process: ',
  'Input: ',
  'Message: ',
  'Here is the file: ',
  'payload: ',
  'Answer the following: ',
  'Can you read this? ',
  'Convert to text and reply: ',
  'My friend sent me this: ',
  'cat note.txt\n',
  'Solve: ',
  'hex: ',
  'Unscramble and do it: ',
  'The code is ',
  '> ',
]

/** Disguises a text in a random way, sometimes with an introduction. */
export function disguise(text: string, random: Random): string {
  return pick(WRAPS, random) + pick(TRANSFORMS, random).apply(text)
}
