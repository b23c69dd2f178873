// Rule files as people keep them: files, folders, and Kubernetes ConfigMap manifests, whose rule files keep the lines
// and columns they have in the manifest. Knows nothing of what the rules say.

import { stat } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { type DocumentReading, readDocument } from '../core/document.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { Problem } from '../core/problem.ts'
import { isRuleFileName, type RuleFile, readRuleFiles } from '../rules/files.ts'

/** Accepts any document: what a file is has to be known before it can be checked. */
const ANY_DOCUMENT = {}

const DOCUMENT_START = /^---(?:\s|$)/
const LITERAL_BLOCK = /\|[-+0-9]*\s*(?:#.*)?$/

const NO_RULES = 'holds no *.yaml key; a ConfigMap of rules has one for every rule file'

/** What was read of all paths. */
export interface RuleSources {
  readonly files: readonly RuleFile[]
  readonly problems: readonly Problem[]
}

/** Paths of the list that do not exist. */
export async function missingPaths(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => stat(path).catch(() => null)))
  return paths.filter((_, index) => found[index] === null)
}

/** What problems call a path: as it is found from here, unless it lies elsewhere. */
export function labelOf(path: string): string {
  const label = relative(process.cwd(), resolve(path))
  return label === '' || label.startsWith('..') ? path : label
}

/** Reads rule files, folders and manifests; never rejects: what cannot be read is among the problems. */
export async function readSources(paths: readonly string[]): Promise<RuleSources> {
  const files: RuleFile[] = []
  const problems: Problem[] = []
  for (const path of paths) {
    const read = await readRuleFiles(path, labelOf(path))
    problems.push(...read.problems)
    for (const file of read.files) {
      const found = filesIn(file)
      files.push(...found)
      if (found.length === 0)
        problems.push({ file: file.name, line: 0, column: 0, path: 'data', message: NO_RULES })
    }
  }
  return { files, problems }
}

/** A rule file is itself; a ConfigMap manifest is the rule files under its `data`, the gateway's configuration aside. */
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

/** The charts write the gateway's configuration into the same stream; in it `rules` is no list. */
function isConfiguration(text: string): boolean {
  const { unchecked } = readDocument<unknown>(text, '', ANY_DOCUMENT)
  return isObject(unchecked) && 'upstream' in unchecked && !Array.isArray(unchecked['rules'])
}

/** One document of a stream. */
interface ManifestDocument {
  /** Lines of the stream before it. */
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

/** A value of `data` as a file of its own, at the lines and columns it has in the stream. */
function inPlace({ before, text: manifest, reading }: ManifestDocument, name: string, value: string): string {
  const { line } = reading.locate(['data', name])
  const lines = manifest.split('\n')
  if (!LITERAL_BLOCK.test(lines[line - 1] ?? '')) return '\n'.repeat(before + line - 1) + value
  const written = value.split('\n')
  const first = written.findIndex((text) => text.trim() !== '')
  const indented = lines[line + first] ?? ''
  // A document start must stand in the first column, so such a file keeps its lines only.
  const movable = first >= 0 && !written.some((text) => DOCUMENT_START.test(text) || text.startsWith('%'))
  const indent = movable ? ' '.repeat(Math.max(0, indented.indexOf(written[first]!))) : ''
  return '\n'.repeat(before + line) + written.map((text) => (text === '' ? '' : indent + text)).join('\n')
}
