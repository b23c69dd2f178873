// Measures the cost of detecting personal data, relative to a plain loop over the same text, and
// its accuracy. Prints Markdown.
// node test/bench/pii.ts [--fuzz] [--developers] [--corpus FILE] [--clean FOLDER]
// --corpus: JSON Lines of {text, spans: [{start, end, kind}]}, optionally with `ignore` (spans that
// do not count) and `kinds` (the kinds annotated in the row).
// --clean: a folder of texts without personal data.
// --developers: false findings in texts of developers, a megabyte of each kind.
// --fuzz: searches for slow texts for a minute, and measures them in all ways in which a text may
// reach the detector.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Finding, PII_KINDS, type PiiKind } from '../../src/core/finding.ts'
import { detect } from '../../src/detect/pii/detect.ts'
import { StreamDetector } from '../../src/detect/pii/detect-stream.ts'
import { kindSet } from '../../src/detect/pii/kinds.ts'
import { developerTexts } from '../detect/pii/developer-texts.ts'
import { FORMATS, isFoundIn, SAMPLES } from '../detect/pii/formats-data.ts'
import { HOLD_BACK_TEXTS } from '../detect/pii/hold-back-data.ts'
import { markedForms } from '../detect/pii/secret-forms.ts'
import { markedPlaces } from '../detect/pii/secret-places.ts'
import { findSlow, pathsOf, UNITS } from './pii-fuzz.ts'

const { values: options } = parseArgs({
  options: {
    fuzz: { type: 'boolean', default: false },
    developers: { type: 'boolean', default: false },
    corpus: { type: 'string' },
    clean: { type: 'string' },
  },
})

const EVERY_KIND = kindSet(PII_KINDS)
const CORE: readonly PiiKind[] = ['email', 'phone', 'credit_card', 'us_ssn', 'iban', 'ip_address']
const EXTENDED: readonly PiiKind[] = [...CORE, 'mac_address', 'crypto_wallet', 'secret', 'national_id']
const TOKEN_CHARACTERS = 4
const KILOBYTE = 1024
const SLOW_TEXT_CHARACTERS = 65_536

/** Returns a copy of a string in one piece, not as a rope. */
const flat = (text: string): string => Buffer.from(text).toString()
const fill = (unit: string, characters: number): string =>
  flat(unit.repeat(Math.ceil(characters / unit.length)).slice(0, characters))

let sink = 0
function plainLoop(text: string): void {
  for (let i = 0; i < text.length; i++) sink = (sink + text.charCodeAt(i)) | 0
}

/** Microseconds per call, the minimum of several rounds: other load can only add time. */
function best(run: () => void, calls: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 15; round++) {
    const start = performance.now()
    for (let call = 0; call < calls; call++) run()
    least = Math.min(least, ((performance.now() - start) * 1000) / calls)
  }
  return least
}

const PROSE =
  'The quick summary of the discussion is that the team agreed to postpone the release, review the open questions ' +
  'with finance, and come back with a plan that everyone can read in a few minutes. '
const CHAT =
  'Please write a polite reply to the customer below. They say the parcel has not arrived. Keep it under 120 words. ' +
  'Their address on file is maria.keller@example.org and the phone number is +49 1512 3453635. '
const CODE =
  "import { readFile } from 'node:fs/promises'\nexport async function load(path: string, limit = 4096) {\n" +
  '  const text = await readFile(path, { encoding: "utf8" })\n  return text.split(/\\r?\\n/).slice(0, limit)\n}\n'

function tokensThrough(text: string): number {
  const detector = new StreamDetector()
  let tokens = 0
  for (let at = 0; at < text.length; at += TOKEN_CHARACTERS, tokens++)
    detector.push(text.slice(at, at + TOKEN_CHARACTERS))
  detector.finish()
  return tokens
}

function reportSpeed(): void {
  const prose = fill(PROSE, KILOBYTE)
  const chat = flat(CHAT + fill(PROSE, KILOBYTE - CHAT.length))
  const code = fill(CODE, KILOBYTE)
  const tokens = tokensThrough(chat)
  const rows: readonly (readonly [string, string, () => void, number])[] = [
    ['1 KB of clean prose', prose, () => detect(prose), 1],
    ['1 KB chat prompt, whole', chat, () => detect(chat), 1],
    ['1 KB chat prompt, one piece through a stream', chat, () => streamed(chat), 1],
    ['one streamed token', chat, () => tokensThrough(chat), tokens],
    ['1 KB of code', code, () => detect(code), 1],
  ]
  console.log('| | µs | plain loop over the same text, µs | ratio |\n|---|---:|---:|---:|')
  for (const [label, text, run, parts] of rows) {
    const floor = best(() => plainLoop(text), 2000) / parts
    const cost = best(run, 2000) / parts
    console.log(`| ${label} | ${cost.toFixed(2)} | ${floor.toFixed(2)} | ${(cost / floor).toFixed(1)} |`)
  }
}

function streamed(text: string): void {
  const detector = new StreamDetector()
  detector.push(text)
  detector.finish()
}

/** Characters held back after each character of a text, in ascending order. */
function heldBack(text: string): number[] {
  const detector = new StreamDetector()
  const held: number[] = []
  for (let at = 0; at < text.length; at++) {
    detector.push(text.charAt(at))
    held.push(at + 1 - detector.safe)
  }
  return held.sort((a, b) => a - b)
}

function reportHoldBack(): void {
  console.log('\n| held back, characters | mean | p99 | most |\n|---|---:|---:|---:|')
  const prose = ['English prose', fill(PROSE, 16 * KILOBYTE)] as const
  for (const [name, text] of [prose, ...HOLD_BACK_TEXTS]) {
    const held = heldBack(text)
    const mean = held.reduce((sum, count) => sum + count, 0) / held.length
    const p99 = held[Math.floor(held.length * 0.99)]
    console.log(`| ${name} | ${mean.toFixed(1)} | ${p99} | ${held.at(-1)} |`)
  }
}

const slowness = (text: string): number => best(() => detect(text), 1) / 1000

function reportSlowest(): void {
  const times = UNITS.map((unit) => [unit, slowness(fill(unit, SLOW_TEXT_CHARACTERS))] as const)
  times.sort((a, b) => b[1] - a[1])
  console.log('\n| slowest 64 KB | ms | four times that, ratio |\n|---|---:|---:|')
  for (const [unit, time] of times.slice(0, 6)) {
    const large = slowness(fill(unit, 4 * SLOW_TEXT_CHARACTERS))
    console.log(
      `| \`${JSON.stringify(unit).slice(1, -1)}\` | ${time.toFixed(1)} | ${(large / time).toFixed(1)} |`,
    )
  }
}

function reportFormats(): void {
  const pairs = FORMATS.flatMap(([, format]) =>
    SAMPLES.map((one) => ({ kind: one.kind, formatted: format(one) })),
  )
  const found = pairs.filter(({ kind, formatted }) => isFoundIn(formatted, kind, detect(formatted.text)))
  const share = ((100 * found.length) / pairs.length).toFixed(1)
  console.log(`\nValues found in formats: ${found.length} of ${pairs.length}, ${share} %.`)
}

const SECRET_SEED = 1

/** Credentials by the form of their issuer and by their place, of each those with exact findings. */
function reportSecrets(): void {
  const isExact = ({ marked }: { readonly marked: string }): boolean => {
    const text = marked.replace(/[«»]/g, '')
    const found = detect(text, kindSet(['secret'])).map(({ start, end }) => `«${text.slice(start, end)}»`)
    return found.join() === (marked.match(/«[^»]*»/g) ?? []).join()
  }
  for (const [name, texts] of [
    ['by form', markedForms(SECRET_SEED)],
    ['by place', markedPlaces(SECRET_SEED)],
  ] as const) {
    const count = texts.filter(isExact).length
    const share = ((100 * count) / texts.length).toFixed(1)
    console.log(`\nCredentials found ${name}: ${count} of ${texts.length}, ${share} %.`)
  }
}

const FUZZ_MS = 60_000
const FUZZ_SHOWN = 8

const PATHS = pathsOf(detect, (pieces) => {
  const detector = new StreamDetector()
  for (const piece of pieces) detector.push(piece)
  detector.finish()
})

/** Measures the slowest units of the search again, on larger texts and in all ways. */
function fuzz(): void {
  const found = findSlow(detect, fill, FUZZ_MS).slice(0, FUZZ_SHOWN)
  console.log('\n| slowest found by fuzzing | ms for 64 KB | four times that, ratio | slowest way, ratio |')
  console.log('|---|---:|---:|---|')
  for (const { unit } of [...found, { unit: PROSE }, { unit: CODE }]) {
    const text = fill(unit, SLOW_TEXT_CHARACTERS)
    const whole = slowness(text)
    const large = slowness(fill(unit, 4 * SLOW_TEXT_CHARACTERS))
    const ways = PATHS.map(({ name, run }) => [name, best(() => run(text), 1) / 1000 / whole] as const)
    const [name, ratio] = ways.reduce((most, way) => (way[1] > most[1] ? way : most))
    const label = JSON.stringify(unit).slice(1, -1)
    console.log(
      `| \`${label}\` | ${whole.toFixed(1)} | ${(large / whole).toFixed(1)} | ${name} ${ratio.toFixed(1)} |`,
    )
  }
}

/** Characters of each kind, and the seed of the texts. */
const DEVELOPER_CHARACTERS = 1_000_000
const DEVELOPER_SEED = 1

/**
 * Findings by kind of text and by kind of value. The texts are made without personal data, so all
 * are false.
 */
function reportDevelopers(): void {
  console.log('\n| texts of developers | false a MB | of kinds |\n|---|---:|---|')
  const line = (kind: string, findings: readonly Finding[], characters: number): void => {
    const kinds = Object.entries(Object.groupBy(findings, (finding) => finding.kind))
    const list = kinds.map(([name, all]) => `${name} ${all!.length}`).join(', ')
    console.log(`| ${kind} | ${((1e6 * findings.length) / characters).toFixed(2)} | ${list} |`)
  }
  const all: Finding[] = []
  let characters = 0
  for (const { kind, text } of developerTexts(DEVELOPER_CHARACTERS, DEVELOPER_SEED)) {
    const findings = detect(text)
    line(kind, findings, text.length)
    all.push(...findings)
    characters += text.length
  }
  line('all', all, characters)
}

interface Row {
  readonly text: string
  readonly spans: readonly Finding[]
  readonly ignore?: readonly { readonly start: number; readonly end: number }[]
  readonly kinds?: readonly PiiKind[]
}

type Offsets = Pick<Finding, 'start' | 'end'>
const overlap = (a: Offsets, b: Offsets): number =>
  Math.max(0, Math.min(a.end, b.end) - Math.max(a.start, b.start))
const isHalf = (a: Offsets, b: Offsets): boolean =>
  2 * overlap(a, b) >= Math.max(a.end - a.start, b.end - b.start)

interface Counts {
  right: number
  wrong: number
  missed: number
}

/**
 * A finding is correct if it overlaps a span of its kind by half of either. A core span leaks if
 * half of it remains.
 */
function reportCorpus(file: string): void {
  const counts = new Map<PiiKind, Counts>(PII_KINDS.map((kind) => [kind, { right: 0, wrong: 0, missed: 0 }]))
  let core = 0
  let leaked = 0
  for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
    const row = JSON.parse(line) as Row
    const findings = detect(row.text, EVERY_KIND)
    const used = new Set<Finding>()
    for (const span of row.spans) {
      const match = findings.find(
        (found) => !used.has(found) && found.kind === span.kind && isHalf(found, span),
      )
      const count = counts.get(span.kind)!
      if (match === undefined) count.missed++
      else {
        used.add(match)
        count.right++
      }
      if (!CORE.includes(span.kind)) continue
      core++
      const covered = findings.reduce((sum, found) => sum + overlap(found, span), 0)
      if (2 * covered < span.end - span.start) leaked++
    }
    for (const found of findings) {
      if (used.has(found) || (row.kinds !== undefined && !row.kinds.includes(found.kind))) continue
      if (row.ignore?.some((span) => overlap(span, found) > 0) !== true) counts.get(found.kind)!.wrong++
    }
  }
  console.log('\n| kind | precision | recall | F1 |\n|---|---:|---:|---:|')
  const line = (label: string, kinds: readonly PiiKind[]): void => {
    const sum = (key: keyof Counts): number =>
      kinds.reduce((total, kind) => total + counts.get(kind)![key], 0)
    const right = sum('right')
    const precision = right / (right + sum('wrong') || 1)
    const recall = right / (right + sum('missed') || 1)
    const f1 = (2 * right) / (2 * right + sum('wrong') + sum('missed') || 1)
    console.log(`| ${label} | ${precision.toFixed(3)} | ${recall.toFixed(3)} | ${f1.toFixed(3)} |`)
  }
  for (const kind of PII_KINDS) line(kind, [kind])
  line('core', CORE)
  line('core and extended', EXTENDED)
  console.log(`\nCore values left in the text: ${((100 * leaked) / (core || 1)).toFixed(2)} % of ${core}.`)
}

const CLEAN_FILES = /\.(?:md|txt|[cm]?[jt]s)$|^[^.]+$/
const MAXIMUM_CLEAN_FILES = 5000

/**
 * Lists every finding, so that a reader can separate the addresses of authors from false alarms.
 */
function reportClean(folder: string): void {
  let characters = 0
  const found = new Map<string, number>()
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && CLEAN_FILES.test(entry.name),
  )
  for (const entry of files.slice(0, MAXIMUM_CLEAN_FILES)) {
    const text = readFileSync(join(entry.parentPath, entry.name), 'utf8')
    characters += text.length
    for (const { kind, start, end } of detect(text)) {
      const value = `${kind} ${JSON.stringify(text.slice(start, end).slice(0, 60))}`
      found.set(value, (found.get(value) ?? 0) + 1)
    }
  }
  console.log(`\n${found.size} different values in ${(characters / 1e6).toFixed(1)} million characters:\n`)
  for (const [value, count] of [...found].sort()) console.log(`- ${value} × ${count}`)
}

reportSpeed()
reportHoldBack()
reportSlowest()
reportFormats()
reportSecrets()
if (options.corpus !== undefined) reportCorpus(options.corpus)
if (options.clean !== undefined) reportClean(options.clean)
if (options.developers) reportDevelopers()
if (options.fuzz) fuzz()
