// Holds the line coverage of the folders where a mistake is a leak. Reads tap's report of the last run of all tests;
// run by `npm run coverage`.

import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ROOT } from './floors.ts'

const FOLDERS = ['policy', 'chat', 'audit', 'core']
const LEAST_PERCENT = 95
const SUMMARY = join(ROOT, '.tap/report/coverage-summary.json')

interface Summary {
  readonly [file: string]: { readonly lines: { readonly total: number; readonly covered: number } }
}

const summary = JSON.parse(readFileSync(SUMMARY, 'utf8')) as Summary
let short = 0
for (const folder of FOLDERS) {
  const files = Object.entries(summary).filter(([file]) => relative(ROOT, file).startsWith(`src/${folder}/`))
  const total = files.reduce((sum, [, { lines }]) => sum + lines.total, 0)
  const covered = files.reduce((sum, [, { lines }]) => sum + lines.covered, 0)
  const percent = total === 0 ? 0 : (100 * covered) / total
  console.log(
    `coverage: ${folder.padEnd(7)} ${percent.toFixed(1)} % of ${total} lines in ${files.length} files`,
  )
  if (percent >= LEAST_PERCENT) continue
  short++
  for (const [file, { lines }] of files) {
    if (lines.covered < lines.total)
      console.error(`  ${relative(ROOT, file)}: ${lines.covered} of ${lines.total}`)
  }
}
if (short > 0) console.error(`coverage: ${short} folders below ${LEAST_PERCENT} %`)
process.exitCode = short === 0 ? 0 : 1
