// Requires a line coverage of 95 % in the folders that are counted. Reads the report of the last run of
// the short tests; `npm run coverage` runs it.

import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { COUNTED_FOLDERS } from '../runner/plan.ts'
import { ROOT } from './sources.ts'

const LEAST_PERCENT = 95
const SUMMARY = join(ROOT, '.tap/report/coverage-summary.json')

interface Summary {
  readonly [file: string]: { readonly lines: { readonly total: number; readonly covered: number } }
}

const summary = JSON.parse(readFileSync(SUMMARY, 'utf8')) as Summary
let short = 0
for (const folder of COUNTED_FOLDERS) {
  const files = Object.entries(summary).filter(([file]) => relative(ROOT, file).startsWith(`src/${folder}/`))
  const total = files.reduce((sum, [, { lines }]) => sum + lines.total, 0)
  const covered = files.reduce((sum, [, { lines }]) => sum + lines.covered, 0)
  const percent = total === 0 ? 0 : (100 * covered) / total
  console.log(
    `coverage: ${folder.padEnd(8)} ${percent.toFixed(1)} % of ${total} lines in ${files.length} files`,
  )
  if (percent >= LEAST_PERCENT) continue
  short++
  for (const [file, { lines }] of files) {
    if (lines.covered < lines.total)
      console.error(`  ${relative(ROOT, file)}: ${lines.covered} of ${lines.total}`)
  }
}
if (short > 0) console.error(`coverage: ${short} folders below ${LEAST_PERCENT} %; test the lines left out`)
process.exitCode = short === 0 ? 0 : 1
