// Reads the TAP that test processes print, and reports what matters of it: a line a file, failures in
// full, the slowest files, totals.

import { once } from 'node:events'
import type { WriteStream } from 'node:fs'
import { Parser, type Result } from 'tap-parser'
import { stringify } from 'yaml'
import type { Job, Tier } from './plan.ts'

/** Time that a file of the short tier may take on two cores. */
const MAXIMUM_SHORT_SECONDS = 10
/** A file over the budget is named; one over it so many times fails the run, busy machine or not. */
const BUSY_FACTOR = 3
const SLOWEST_SHOWN = 10

/** Results of one test file. */
interface FileResult {
  readonly file: string
  seconds: number
  passed: number
  skipped: number
  /** A text for each failed point, with its name and what tap says of it. */
  readonly failures: string[]
}

/** Follows the output of one process of tests. */
export class JobOutput {
  readonly #parser = new Parser()
  readonly #results: Map<string, FileResult>
  readonly #startedMs = performance.now()
  #tap = ''

  constructor({ files }: Job) {
    this.#results = new Map(
      files.map((file) => [file, { file, seconds: 0, passed: 0, skipped: 0, failures: [] }]),
    )
    this.#parser.on('child', (child: Parser) => this.#follow(child, child.name))
    this.#parser.on('assert', ({ name, time }: Result) => {
      const result = this.#results.get(name)
      if (result !== undefined) result.seconds = (time ?? 0) / 1000
    })
  }

  write(text: string): void {
    this.#tap += text
    this.#parser.write(text)
  }

  /**
   * @param ended exit code of the process, or the signal's name
   * @returns the results of its files, and its output as a subtest in TAP
   */
  end(ended: number | string): { results: FileResult[]; tap: string } {
    this.#parser.end()
    const results = [...this.#results.values()]
    const [first] = results
    if (results.length === 1) first!.seconds = (performance.now() - this.#startedMs) / 1000
    const isOk = ended === 0 && this.#parser.ok
    if (!isOk && results.every(({ failures }) => failures.length === 0))
      first!.failures.push(`the process of ${results.map(({ file }) => file).join(', ')} ended with ${ended}`)
    return { results, tap: this.#tap.replace(/^TAP version.*\n/, '').replace(/^(?=.)/gm, '    ') }
  }

  /** Counts the points of a file, those of tests inside tests as well. */
  #follow(parser: Parser, file: string): void {
    const result = this.#results.get(file)
    if (result === undefined) return
    parser.on('child', (child: Parser) => this.#follow(child, file))
    parser.on('assert', (point: Result) => {
      if (point.closingTestPoint) return
      if (point.ok) result.passed++
      if (point.skip !== false) result.skipped++
      if (!point.ok && point.todo === false) result.failures.push(describe(point))
    })
  }
}

const describe = ({ fullname, diag }: Result): string =>
  `${fullname}\n${stringify(diag ?? {}, { lineWidth: 0 }).replace(/^(?=.)/gm, '  ')}`

/** Prints results as files end, then what they add up to. */
export class Report {
  readonly #tap: WriteStream
  readonly #hasBudget: boolean
  readonly #startedMs = performance.now()
  readonly #results: FileResult[] = []
  #jobs = 0

  /** @param hasCoverage multiplies the time of a file, so that none is judged by it */
  constructor(tap: WriteStream, tier: Tier, hasCoverage: boolean) {
    this.#tap = tap
    this.#hasBudget = tier === 'short' && !hasCoverage
    tap.write('TAP version 14\n')
  }

  get isOk(): boolean {
    return this.#results.every((result) => result.failures.length === 0 && !this.#isFarTooSlow(result))
  }

  add({ results, tap }: ReturnType<JobOutput['end']>): void {
    this.#results.push(...results)
    const isOk = results.every(({ failures }) => failures.length === 0)
    const name = results.map(({ file }) => file).join(' ')
    this.#tap.write(`# Subtest: ${name}\n${tap}${isOk ? 'ok' : 'not ok'} ${++this.#jobs} - ${name}\n`)
    for (const { file, seconds, passed, failures } of results) {
      const points = `${passed} passed${failures.length > 0 ? `, ${failures.length} failed` : ''}`
      console.log(
        `${failures.length > 0 ? 'FAIL' : 'ok  '} ${seconds.toFixed(1).padStart(6)} s  ${file}  ${points}`,
      )
      for (const failure of failures) console.log(failure.replace(/^(?=.)/gm, '     '))
    }
  }

  /** Prints the end of the report. The last line is `N passed, N failed`, with `N skipped` if any. */
  async end(): Promise<void> {
    this.#tap.end(`1..${this.#jobs}\n`)
    await once(this.#tap, 'finish')
    const failed = this.#results.filter(({ failures }) => failures.length > 0)
    if (failed.length > 0) console.log('\nFailed:')
    for (const { file, failures } of failed)
      for (const failure of failures) console.log(`  ${file}: ${failure.split('\n', 1)}`)
    console.log('\nSlowest files:')
    const slowest = this.#results.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST_SHOWN)
    for (const { file, seconds } of slowest) console.log(`${seconds.toFixed(1).padStart(7)} s  ${file}`)
    for (const result of this.#results) this.#printBudget(result)
    const sum = (count: (result: FileResult) => number) =>
      this.#results.reduce((total, result) => total + count(result), 0)
    const skipped = sum((result) => result.skipped)
    const minutes = (performance.now() - this.#startedMs) / 60_000
    console.log(`\n${this.#results.length} files in ${minutes.toFixed(1)} min`)
    console.log(
      `${sum(({ passed }) => passed)} passed, ${sum(({ failures }) => failures.length)} failed` +
        (skipped > 0 ? `, ${skipped} skipped` : ''),
    )
  }

  #printBudget(result: FileResult): void {
    if (!this.#hasBudget || result.seconds <= MAXIMUM_SHORT_SECONDS) return
    const verdict = this.#isFarTooSlow(result) ? 'FAIL: ' : ''
    console.log(
      `${verdict}${result.file} took ${result.seconds.toFixed(1)} s; a file of the short tier may take ${MAXIMUM_SHORT_SECONDS} s: shorten it, or name it *.long.test.ts`,
    )
  }

  #isFarTooSlow({ seconds }: FileResult): boolean {
    return this.#hasBudget && seconds > BUSY_FACTOR * MAXIMUM_SHORT_SECONDS
  }
}
