// Reads rule files from files, folders and Kubernetes ConfigMap manifests, where price files may be
// too. A file in a manifest keeps its lines and columns. Knows nothing of what the rules say.

import { stat } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { type DocumentReading, readDocument } from '../core/document.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { Problem } from '../core/problem.ts'
import { isRuleFileName, type RuleFile, readRuleFiles } from '../rules/files.ts'

/** Accepts any document, so that its kind can be found out before it is checked. */
const ANY_DOCUMENT = {}

const DOCUMENT_START = /^---(?:\s|$)/
const LITERAL_BLOCK = /\|[-+0-9]*\s*(?:#.*)?$/

const NO_RULES =
  'holds no *.yaml key with rules in a ConfigMap; check the files that the rules come from, such as those of rules.existingConfigMap'
const CONFIGURATION = 'is a configuration and no rule file; run `sidegate check --config` with it'

/** The files of all paths, and the problems found while reading. */
export interface RuleSources {
  readonly files: readonly RuleFile[]
  /** Price files of manifests. */
  readonly prices: readonly RuleFile[]
  readonly problems: readonly Problem[]
}

/** Returns the paths that do not exist. */
export async function missingPaths(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => stat(path).catch(() => null)))
  return paths.filter((_, index) => found[index] === null)
}

/** The name of a path in problems: relative to the working directory, unless it is outside. */
export function labelOf(path: string): string {
  const label = relative(process.cwd(), resolve(path))
  return label === '' || label.startsWith('..') ? path : label
}

/**
 * Reads rule files, folders and manifests. Never rejects: unreadable paths are among the problems.
 */
export async function readSources(paths: readonly string[]): Promise<RuleSources> {
  const files: RuleFile[] = []
  const prices: RuleFile[] = []
  const problems: Problem[] = []
  for (const path of paths) {
    const read = await readRuleFiles(path, labelOf(path))
    problems.push(...read.problems)
    for (const file of read.files) {
      if (isConfiguration(file.text)) {
        problems.push({ file: file.name, line: 0, column: 0, path: '', message: CONFIGURATION })
        continue
      }
      const found = filesIn(file)
      for (const one of found) (one !== file && isPriceFile(one) ? prices : files).push(one)
      if (found.length === 0)
        problems.push({ file: file.name, line: 0, column: 0, path: 'data', message: NO_RULES })
    }
  }
  return { files, prices, problems }
}

/**
 * Returns the files of rules and prices under the `data` of ConfigMap manifests, or the file itself
 * when it holds no manifest.
 */
export function filesIn(file: RuleFile): RuleFile[] {
  const documents = splitDocuments(file.text).map(
    (one): ManifestDocument => ({ ...one, reading: readDocument(one.text, file.name, ANY_DOCUMENT) }),
  )
  const manifests = documents.filter(({ reading }) => isConfigMap(reading.unchecked))
  if (manifests.length === 0) return [file]
  return manifests.flatMap((manifest) => {
    const data = (manifest.reading.unchecked as JsonObject)['data']
    return Object.entries(isObject(data) ? data : {})
      .filter(([name, value]) => isRuleFileName(name) && typeof value === 'string' && !isConfiguration(value))
      .map(([name, value]) => ({ name: file.name, text: inPlace(manifest, name, String(value)) }))
  })
}

const isConfigMap = (document: unknown): boolean => isObject(document) && document['kind'] === 'ConfigMap'

/** The chart's manifests hold the gateway's configuration too; in it `rules` is not a list. */
function isConfiguration(text: string): boolean {
  if (!text.includes('upstream')) return false
  const { unchecked } = readDocument<unknown>(text, '', ANY_DOCUMENT)
  return (
    isObject(unchecked) &&
    ('upstream' in unchecked || 'upstreams' in unchecked) &&
    !Array.isArray(unchecked['rules'])
  )
}

/** Whether a file holds prices and no rules. */
export function isPriceFile({ text }: RuleFile): boolean {
  if (!text.includes('prices')) return false
  const { unchecked } = readDocument<unknown>(text, '', ANY_DOCUMENT)
  return isObject(unchecked) && 'prices' in unchecked && !('rules' in unchecked)
}

/** One document of a stream. */
interface ManifestDocument {
  /** Number of lines before it in the stream. */
  readonly before: number
  readonly text: string
  readonly reading: DocumentReading<unknown>
}

function splitDocuments(text: string): Omit<ManifestDocument, 'reading'>[] {
  const lines = text.split('\n')
  const starts = lines.flatMap((line, index) => (DOCUMENT_START.test(line) ? [index] : []))
  const begins = [0, ...starts.map((start) => start + 1)]
  return begins.map((before, index) => ({
    before,
    text: lines.slice(before, starts[index] ?? lines.length).join('\n'),
  }))
}

/** A value of `data` as a file, padded so that it keeps its lines and columns in the stream. */
function inPlace({ before, text: manifest, reading }: ManifestDocument, name: string, value: string): string {
  const { line } = reading.locate(['data', name])
  const lines = manifest.split('\n')
  if (!LITERAL_BLOCK.test(lines[line - 1] ?? '')) return '\n'.repeat(before + line - 1) + value
  const written = value.split('\n')
  const first = written.findIndex((text) => text.trim() !== '')
  const indented = lines[line + first] ?? ''
  // A document start has to be in the first column, so such a file keeps its lines only.
  const movable = first >= 0 && !written.some((text) => DOCUMENT_START.test(text) || text.startsWith('%'))
  const indent = movable ? ' '.repeat(Math.max(0, indented.indexOf(written[first]!))) : ''
  return '\n'.repeat(before + line) + written.map((text) => (text === '' ? '' : indent + text)).join('\n')
}
