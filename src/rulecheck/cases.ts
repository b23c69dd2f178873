// Finds and reads files of rule tests, and reports every error in them with its position. Knows not
// how a case runs.

import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { formatPath, type Path, readDocument } from '../core/document.ts'
import type { PiiKind } from '../core/finding.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { KeyLabels } from '../core/key-terms.ts'
import type { Problem } from '../core/problem.ts'
import type { MatchedKey } from '../policy/compile.ts'
import type { ParsedRule } from '../policy/parse-rule.ts'
import { isRuleTestName, readRuleFiles } from '../rules/files.ts'
import { snapshotOf } from '../rules/snapshot.ts'
import { CASES_SCHEMA, type ToolOutcome } from './case-schema.ts'
import { readSources } from './rule-sources.ts'

/** `monitor`: the call passes, and a rule with the action `monitor` fired. */
export type CaseDecision = 'allow' | 'monitor' | 'block'

export interface Expectation {
  readonly decision?: CaseDecision
  readonly rule?: string
  readonly rules?: readonly string[]
  readonly redacted?: string
  readonly answer?: string
  readonly findings?: Readonly<Partial<Record<PiiKind, number>>>
  readonly tools?: Readonly<Record<string, ToolOutcome>>
}

interface WrittenCase {
  readonly name: string
  readonly text?: string
  readonly request?: JsonObject
  readonly api?: string
  readonly key?: string
  readonly labels?: KeyLabels
  readonly model?: string
  readonly answer?: string | JsonObject
  readonly expect: Expectation
}

export interface RuleCase {
  readonly name: string
  readonly file: string
  /** 1-based. */
  readonly line: number
  readonly api: string
  readonly request: JsonObject
  readonly key: MatchedKey
  readonly answer: string | JsonObject | null
  readonly expect: Expectation
}

/** One test file with the rules it tests. */
export interface CaseFile {
  readonly file: string
  readonly cases: readonly RuleCase[]
  readonly rules: readonly ParsedRule[]
}

export interface CaseFiles {
  readonly files: readonly CaseFile[]
  readonly problems: readonly Problem[]
}

/** Returns the given files, and the test files of the given folders in the order of names. */
export async function findCaseFiles(paths: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const path of paths) {
    if (!(await stat(path)).isDirectory()) found.push(path)
    else {
      const names = (await readdir(path)).filter(isRuleTestName).sort()
      found.push(...names.map((name) => join(path, name)))
    }
  }
  return [...new Set(found)]
}

/**
 * Reads test files and the rules they test. With problems in either, the cases must not run.
 * @param withRules false for cases that run on other rules
 */
export async function loadCases(paths: readonly string[], withRules = true): Promise<CaseFiles> {
  const files: CaseFile[] = []
  const problems = new Map<string, Problem>()
  const add = (found: readonly Problem[]) => {
    for (const problem of found) problems.set(JSON.stringify(problem), problem)
  }
  for (const path of paths) {
    const label = relative(process.cwd(), resolve(path))
    const read = await readRuleFiles(path, label)
    add(read.problems)
    const [file] = read.files
    if (file === undefined) continue
    const { cases, rulePaths, problems: found } = readCases(file.text, file.name)
    add(found)
    if (!withRules) {
      files.push({ file: file.name, cases, rules: [] })
      continue
    }
    const sources = await readSources(
      rulePaths === null ? [dirname(path)] : rulePaths.map((one) => resolve(dirname(path), one)),
    )
    const snapshot = snapshotOf(sources.files, sources.problems)
    add(snapshot.problems)
    files.push({ file: file.name, cases, rules: snapshot.rules })
  }
  return { files, problems: [...problems.values()] }
}

/** Reads the cases of one file's text. */
export function readCases(
  text: string,
  file: string,
): {
  readonly cases: readonly RuleCase[]
  readonly rulePaths: readonly string[] | null
  readonly problems: readonly Problem[]
} {
  const reading = readDocument<{ tests: WrittenCase[]; rules?: string[] }>(text, file, CASES_SCHEMA)
  if (reading.value === null) return { cases: [], rulePaths: null, problems: reading.problems }
  const problems: Problem[] = []
  const add = (path: Path, message: string) =>
    problems.push({ file, ...reading.locate(path), path: formatPath(path), message })
  const names = new Set<string>()
  const cases = reading.value.tests.map((written, index): RuleCase => {
    const path = ['tests', index]
    if ((written.text === undefined) === (written.request === undefined)) {
      add(path, 'needs either `text` or `request`')
    }
    if (names.has(written.name))
      add([...path, 'name'], 'is the name of an earlier case; names are unique in a file')
    names.add(written.name)
    if (written.api !== undefined && written.api !== 'chat') {
      if (written.text !== undefined)
        add([...path, 'text'], `is for chat; write the request of ${written.api}`)
      if (typeof written.answer === 'string')
        add([...path, 'answer'], `is for chat; write the whole answer of ${written.api}`)
    }
    for (const [at, message] of faultsOfCalls(written)) add([...path, 'answer', 'tool_calls', ...at], message)
    if (written.expect.answer !== undefined && written.answer === undefined) {
      add([...path, 'expect', 'answer'], 'needs an answer of the model; add `answer` to the case')
    }
    return {
      name: written.name,
      file,
      line: reading.locate(path).line,
      api: written.api ?? 'chat',
      request: requestOf(written),
      key: { name: written.key ?? 'test', labels: written.labels ?? {} },
      answer: written.answer ?? null,
      expect: written.expect,
    }
  })
  return { cases, rulePaths: reading.value.rules ?? null, problems }
}

const CALL_FORM = 'such as {name: bash, arguments: {command: ls}}'

/** The errors in the calls that stand for an answer, each with its path in them. */
function faultsOfCalls({ api = 'chat', answer }: WrittenCase): [at: Path, message: string][] {
  if (!isObject(answer) || answer['tool_calls'] === undefined) return []
  if (api !== 'chat') return [[[], `is for chat; write the whole answer of ${api}`]]
  const { tool_calls: calls, choices } = answer
  if (choices !== undefined)
    return [[[], 'stands for a whole answer; leave out `choices`, or write it there']]
  if (!Array.isArray(calls)) return [[[], `must be a list of calls, ${CALL_FORM}`]]
  return calls.flatMap((call, index): [Path, string][] => {
    if (!isObject(call)) return [[[index], `must be a call, ${CALL_FORM}`]]
    const inner = [call['function'], call['custom']].find(isObject) ?? call
    const { name } = inner
    if (typeof name === 'string' && name !== '') return []
    return [[[index, ...(name === undefined ? [] : ['name'])], `needs the name of a tool, ${CALL_FORM}`]]
  })
}

const requestOf = ({ text, request, model = 'test-model' }: WrittenCase): JsonObject =>
  request === undefined ? { model, messages: [{ role: 'user', content: text ?? '' }] } : { model, ...request }

/** Whether a path has the name of a test file. */
export const isCasePath = (path: string): boolean => isRuleTestName(basename(path))
