// From a rule file or a folder of them to one checked snapshot, every mistake of every file included. Knows neither
// who watches nor what is in force.

import { createHash } from 'node:crypto'
import { basename, join, relative, resolve, sep } from 'node:path'
import { checkValue, type DocumentReading, formatPath, type Path, readDocument } from '../core/document.ts'
import { uuidv5 } from '../core/ids.ts'
import type { Problem } from '../core/problem.ts'
import type { Rule } from '../policy/rule.ts'
import { type RuleProblem, validateRule, validateTogether } from '../policy/validate.ts'
import { completeRule, type WrittenRule } from './declaration.ts'
import { type RuleFile, readRuleFiles } from './files.ts'
import { RULE_SCHEMA, RULES_SCHEMA } from './schema.ts'

/** A rule with the place of its declaration. */
export interface FileRule extends Rule {
  /** As problems name the file. */
  readonly path: string
  /** 1-based. */
  readonly line: number
}

/** What a rule folder held at one moment. */
export interface RuleSnapshot {
  /** In the order of declaration; complete only when there are no problems. */
  readonly rules: readonly FileRule[]
  readonly problems: readonly Problem[]
  /** SHA-256 over names and bytes of the files, hex: equal hashes mean an equal snapshot. */
  readonly contentHash: string
}

/**
 * Reads a rule file or every `*.yaml` and `*.yml` of a folder (but `*_test.yaml` and names that begin with a dot),
 * in the order of their names. Never rejects: what cannot be read is among the problems.
 */
export async function loadRules(path: string): Promise<RuleSnapshot> {
  const label = labelOf(path)
  const { files, problems } = await readRuleFiles(path, label)
  return snapshotOf(files, problems)
}

/** As loadRules, from texts at hand. */
export function snapshotOf(files: readonly RuleFile[], found: readonly Problem[] = []): RuleSnapshot {
  const digest = createHash('sha256')
  for (const { name, text } of files) digest.update(`${name.length}:${name}${text.length}:${text}`)
  digest.update(JSON.stringify(found))
  const problems = [...found]
  const rules = files.flatMap((file) => readRules(file, problems))
  problems.push(...duplicates(rules))
  const first = rules[0]
  const together = problems.length === 0 ? validateTogether(rules) : null
  if (first !== undefined && together !== null) {
    problems.push({ file: first.path, line: 0, column: 0, path: '', message: together })
  }
  return Object.freeze({ rules, problems, contentHash: digest.digest('hex') })
}

/** Rules whose shape is right are looked at more closely even when others of the file are not. */
function readRules({ name, text }: RuleFile, problems: Problem[]): FileRule[] {
  const reading = readDocument(text, name, RULES_SCHEMA)
  const found = [...reading.problems]
  const rules = writtenRules(reading.unchecked).flatMap((written, index) => {
    if (checkValue(written, RULE_SCHEMA).length > 0) return []
    const rule = completeRule(written as WrittenRule)
    for (const problem of validateRule(rule)) found.push(problemIn(reading, name, index, problem))
    return [{ ...rule, id: uuidv5(rule.name), path: name, line: reading.locate(['rules', index]).line }]
  })
  problems.push(...found.sort((a, b) => a.line - b.line || a.column - b.column))
  return rules
}

function writtenRules(document: unknown): readonly unknown[] {
  const rules = typeof document === 'object' && document !== null && 'rules' in document ? document.rules : []
  return Array.isArray(rules) ? rules : []
}

function problemIn(
  reading: DocumentReading<unknown>,
  file: string,
  index: number,
  problem: RuleProblem,
): Problem {
  const path: Path = ['rules', index, ...toPath(problem.path)]
  return { file, ...reading.locate(path), path: formatPath(path), message: problem.message }
}

/** `match.models[0]` as its parts. */
const toPath = (text: string): Path =>
  [...text.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([part, index]) =>
    index === undefined ? part : Number(index),
  )

function duplicates(rules: readonly FileRule[]): Problem[] {
  const first = new Map<string, FileRule>()
  const problems: Problem[] = []
  for (const rule of rules) {
    const other = first.get(rule.name)
    if (other === undefined) first.set(rule.name, rule)
    else {
      const message = `the name \`${rule.name}\` is taken by ${other.path}:${other.line}; names are unique across files`
      problems.push({ file: rule.path, line: rule.line, column: 1, path: 'rules', message })
    }
  }
  return problems
}

/** The path as seen from the working directory, unless it lies elsewhere. */
function labelOf(path: string): string {
  const near = relative(process.cwd(), resolve(path))
  return near === '' ? basename(path) : near.startsWith(`..${sep}`) || near === '..' ? path : join(near)
}
