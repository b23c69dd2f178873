// Runs rule tests and compares their outcomes with the expectations. The same case always runs the
// same way.

import { GatewayError } from '../core/errors.ts'
import type { RuleSet } from '../policy/compile.ts'
import { ruleSetOf } from '../rules/rule-set.ts'
import type { CaseFile, Expectation, RuleCase } from './cases.ts'
import { type CaseEnvironment, type CaseOutcome, runCase } from './run-case.ts'

/** Ways in which each answer is cut when it streams. */
const CHUNKINGS = 24

/** One expectation that was not met. */
export interface Mismatch {
  /** `decision`, `redacted`, …, or `exchange` for one that the gateway does not accept. */
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
export async function compareCases(
  files: readonly CaseFile[],
  environment: CaseEnvironment,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  for (const { cases, rules } of files) {
    const compiled = ruleSetOf(rules)
    for (const test of cases)
      verdicts.push({ test, mismatches: await compareCase(test, compiled, environment) })
  }
  return verdicts
}

async function compareCase(
  test: RuleCase,
  rules: RuleSet,
  environment: CaseEnvironment,
): Promise<readonly Mismatch[]> {
  try {
    const whole = await runCase(test, rules, environment)
    const mismatches = compareOutcome(test.expect, whole)
    const chunkings = test.answer === null ? 0 : CHUNKINGS
    for (let seed = 0; seed < chunkings && mismatches.length === 0; seed++) {
      mismatches.push(...compareStreamed(whole, await runCase(test, rules, environment, seed), seed))
    }
    return mismatches
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const got = `${error.code}: ${error.message}`
    return [{ what: 'exchange', expected: 'one the gateway accepts', got }]
  }
}

function compareOutcome(expect: Expectation, outcome: CaseOutcome): Mismatch[] {
  const mismatches: Mismatch[] = []
  const check = (what: string, expected: string, got: string) => {
    if (expected !== got) mismatches.push({ what, expected, got })
  }
  if (expect.decision !== undefined) check('decision', expect.decision, outcome.decision)
  if (expect.rule !== undefined) {
    const isMet =
      outcome.refusedBy === null ? outcome.rules.includes(expect.rule) : outcome.refusedBy === expect.rule
    if (!isMet) check('rule', expect.rule, outcome.refusedBy ?? list(outcome.rules))
  }
  if (expect.rules !== undefined) check('rules', list([...expect.rules].sort()), list(outcome.rules))
  if (expect.redacted !== undefined) check('redacted', expect.redacted, outcome.redacted)
  if (expect.answer !== undefined)
    check('answer', expect.answer, outcome.answer ?? '(no answer reaches the client)')
  if (expect.findings !== undefined) check('findings', counts(expect.findings), counts(outcome.findings))
  for (const [name, wanted] of Object.entries(expect.tools ?? {})) {
    const got = Object.hasOwn(outcome.tools, name) ? outcome.tools[name]! : '(not in the call)'
    check(`tools.${name}`, wanted, got)
  }
  return mismatches
}

/**
 * Compares a streamed answer with the whole one. A refused stream ends early, so only the refusal
 * is compared.
 */
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
