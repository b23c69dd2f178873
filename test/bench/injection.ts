// Measures the prompt injection score: attacks found and false alarms on development data, results
// on unseen sources and families, and cost. Usage: see src/detect/injection/README.md.

import { parseArgs } from 'node:util'
import { loadInjectionModel } from '../../src/detect/injection/score.ts'
import { plantedRows, readRows } from './injection-corpus.ts'
import { printCost } from './injection-cost.ts'
import { printDocuments, printWritten } from './injection-documents.ts'
import { printFamilies, printSources, printTasks } from './injection-held-out.ts'
import { createRandom } from './injection-learn.ts'
import { printSummary, printTable, printTransforms } from './injection-tables.ts'

const PLANTED_ROWS = 300

const { values } = parseArgs({
  options: { train: { type: 'string' }, dev: { type: 'string' }, packages: { type: 'string' } },
})
if (values.dev === undefined) {
  console.error('usage: injection.ts --dev dev.jsonl [--train train.jsonl [--packages node_modules]]')
  process.exitCode = 2
} else {
  const model = loadInjectionModel()
  const development = readRows(values.dev)
  const rows = [...development, ...plantedRows(development, PLANTED_ROWS, 'planted', createRandom(5))]
  console.log(`model ${model.version}, threshold ${model.threshold}\n`)
  printTable(model, rows)
  printSummary(model, rows)
  printDocuments(model)
  printWritten(model)
  printTransforms(model, development)
  printCost(model, development)
  if (values.train !== undefined) {
    const corpora = { train: readRows(values.train), development, packages: values.packages ?? null }
    printSources(corpora)
    printFamilies(corpora)
    printTasks(corpora)
  }
}
