// Cases run and compared with what they expect. The same case always runs the same way.

import { GatewayError } from '../core/errors.ts'
import { compileRules } from '../policy/compile.ts'
import { revisionOf } from '../rules/declaration.ts'
import type { CaseFile, Expectation, RuleCase } from './cases.ts'
import { type Bench, type CaseOutcome, exercise } from './run-case.ts'

/** Ways in which each answer is cut when it streams. */
const CHUNKINGS = 24

/** One thing that came out otherwise. */
export interface Mismatch {
  /** `decision`, `redacted`, … or what could not be done. */
  readonly what: string
  readonly expected: string
  readonly got: string
}

export interface Verdict {
  readonly test: RuleCase
  /** Empty when the case passed. */
  readonly mismatches: readonly Mismatch[]
}

/** Runs every case of the files, in order. */
export async function judgeCases(files: readonly CaseFile[], bench: Bench): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  for (const { cases, rules } of files) {
    const compiled = compileRules(rules, revisionOf(rules))
    for (const test of cases) {
      try {
        const whole = await exercise(test, compiled, bench)
        const mismatches = compare(test.expect, whole)
        if (test.answer !== null) {
          for (let seed = 0; seed < CHUNKINGS && mismatches.length === 0; seed++) {
            mismatches.push(...compareStreamed(whole, await exercise(test, compiled, bench, seed), seed))
          }
        }
        verdicts.push({ test, mismatches })
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        const got = `${error.code}: ${error.message}`
        verdicts.push({ test, mismatches: [{ what: 'exchange', expected: 'one the gateway takes', got }] })
      }
    }
  }
  return verdicts
}

function compare(expect: Expectation, outcome: CaseOutcome): Mismatch[] {
  const mismatches: Mismatch[] = []
  const check = (what: string, expected: string, got: string) => {
    if (expected !== got) mismatches.push({ what, expected, got })
  }
  if (expect.decision !== undefined) check('decision', expect.decision, outcome.decision)
  if (expect.rule !== undefined) {
    const met =
      outcome.refusedBy === null ? outcome.rules.includes(expect.rule) : outcome.refusedBy === expect.rule
    if (!met) check('rule', expect.rule, outcome.refusedBy ?? list(outcome.rules))
  }
  if (expect.rules !== undefined) check('rules', list([...expect.rules].sort()), list(outcome.rules))
  if (expect.redacted !== undefined) check('redacted', expect.redacted, outcome.redacted)
  if (expect.answer !== undefined)
    check('answer', expect.answer, outcome.answer ?? '(no answer reaches the client)')
  if (expect.findings !== undefined) {
    check('findings', counts(expect.findings), counts(outcome.findings))
  }
  return mismatches
}

/** A stream that is refused ends early, so only that it is refused is the same. */
function compareStreamed(whole: CaseOutcome, streamed: CaseOutcome, seed: number): Mismatch[] {
  const form = ({ decision, rules, answer, findings }: CaseOutcome) =>
    decision === 'block' ? decision : [decision, list(rules), counts(findings), answer].join('; ')
  const expected = form(whole)
  const got = form(streamed)
  return expected === got ? [] : [{ what: `streamed, cut by seed ${seed}`, expected, got }]
}

const list = (names: readonly string[]): string => (names.length === 0 ? '(none)' : names.join(', '))

const counts = (findings: Readonly<Partial<Record<string, number>>>): string =>
  list(
    Object.keys(findings)
      .sort()
      .map((kind) => `${kind}: ${findings[kind]}`),
  )
