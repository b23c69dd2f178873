// Rule files for tests, on disk and as values.

import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RuleSnapshot, snapshotOf } from '../../src/rules/snapshot.ts'

/** A file with keyword rules of these names, each looking for its own name. */
export const rulesText = (...names: string[]): string =>
  `rules:\n${names.map((name) => `  - {name: ${name}, type: keyword_block, pattern: ${name}, action: block}\n`).join('')}`

/** A snapshot of one file. */
export const snapshot = (text: string): RuleSnapshot => snapshotOf([{ name: 'rules/a.yaml', text }])

/** An empty folder that is gone after the test. */
export function temporaryFolder(t: { teardown(remove: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'sidegate-rules-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Publishes files the way kubelet does (atomic_writer.go): a new folder, then one rename of a link. */
export function publish(folder: string, moment: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(join(folder, `..${moment}`), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `..${moment}`, name), text)
  symlinkSync(`..${moment}`, join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  for (const name of Object.keys(files)) {
    try {
      symlinkSync(join('..data', name), join(folder, name))
    } catch {
      // There since an earlier moment.
    }
  }
}
