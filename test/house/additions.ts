// Additions that were made once, recorded as insertions at texts of other files (additions/*.txt):
// anchors outlive changes near them that break the context of a patch.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Insertion {
  readonly path: string
  /** Occurs once in the file; null for a file that the addition creates. */
  readonly before: string | null
  readonly text: string
}

const HEAD = /^=== (\S+) (?:created|before (".*"))\n/gm

/** Reads a record: heads `=== PATH before "TEXT"` or `=== PATH created`, each with what it inserts. */
function readRecord(name: string): Insertion[] {
  const record = readFileSync(fileURLToPath(new URL(`additions/${name}.txt`, import.meta.url)), 'utf8')
  const heads = [...record.matchAll(HEAD)]
  return heads.map(({ 0: head, 1: path, 2: anchor, index }, at) => ({
    path: path!,
    before: anchor === undefined ? null : JSON.parse(anchor),
    text: record.slice(index + head.length, heads[at + 1]?.index),
  }))
}

interface Addition {
  /** As its list in src/README.md begins. */
  readonly title: string
  readonly insertions: readonly Insertion[]
  /** Files that test/charts/generate.ts changes then. */
  readonly generated: readonly string[]
}

export const ADDITIONS: readonly Addition[] = [
  /** The tokens of a prompt that the provider had in its cache, which reports sum. */
  { title: 'A field of an entry', insertions: readRecord('entry-field'), generated: [] },
  /** `prompt_length`, which bounds the characters of a prompt: a fact that nothing else judges. */
  {
    title: 'A rule type',
    insertions: readRecord('rule-type'),
    generated: ['charts/sidegate/values.schema.json', 'config/rules.schema.json'],
  },
  /** `/v1/rerank`, which orders documents by a query. */
  { title: 'An API', insertions: readRecord('api'), generated: ['config/rules-test.schema.json'] },
]

/**
 * Returns a file with the insertion. What is inserted within a line has no line feed at its end.
 * @param file null for one that does not exist
 * @throws Error that says what no longer fits
 */
export function insert(file: string | null, { path, before, text }: Insertion): string {
  const parts = before === null ? [] : (file?.split(before) ?? [])
  if (before === null ? file !== null : parts.length !== 2)
    throw new Error(
      before === null ? `${path} exists` : `${path} has ${JSON.stringify(before)} ${parts.length - 1} times`,
    )
  if (before === null) return text
  const [start = '', end = ''] = parts
  const isWithinLine = start !== '' && !start.endsWith('\n')
  return `${start}${isWithinLine ? text.replace(/\n$/, '') : text}${before}${end}`
}

/** Makes an addition to the files in a folder. @throws Error as `insert` */
export function makeAddition(folder: string, insertions: readonly Insertion[]): void {
  for (const insertion of insertions) {
    const path = join(folder, insertion.path)
    if (insertion.before === null) mkdirSync(dirname(path), { recursive: true })
    const file = insertion.before === null ? null : readFileSync(path, 'utf8')
    writeFileSync(path, insert(file, insertion))
  }
}
