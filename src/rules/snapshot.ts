// From the texts of rule files to one checked snapshot, mistakes of every file included. Knows neither where the texts
// come from nor what is in force.

import { createHash } from 'node:crypto'
import { checkValue, type DocumentReading, formatPath, type Path, readDocument } from '../core/document.ts'
import { uuidv5 } from '../core/ids.ts'
import { firstOf, type Problem } from '../core/problem.ts'
import { soundPart } from '../core/valid-part.ts'
import type { Rule, RuleDeclaration } from '../policy/rule.ts'
import { type RuleProblem, validateRule, validateTogether } from '../policy/validate.ts'
import { completeRule, type WrittenRule } from './declaration.ts'
import type { RuleFile } from './files.ts'
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
 * Reads the texts of rule files.
 * @param found what was wrong with them before
 * @param onFile told of each file before it is read
 */
export function snapshotOf(
  files: readonly RuleFile[],
  found: readonly Problem[] = [],
  onFile?: (name: string) => void,
): RuleSnapshot {
  const readings = files.map((file) => {
    onFile?.(file.name)
    return readRules(file)
  })
  const rules = readings.flatMap((reading) => reading.rules)
  const taken = duplicates(readings.flatMap(({ names }) => names))
  const problems = [...found, ...readings.flatMap((reading) => reading.problems), ...taken]
  const first = rules[0]
  const message = problems.length === 0 ? validateTogether(rules) : null
  if (first !== undefined && message !== null) {
    problems.push({ file: first.path, line: 0, column: 0, path: '', message })
  }
  return Object.freeze({ rules, problems: firstOf(problems), contentHash: contentHash(files, found) })
}

/** As of a snapshot. */
export function contentHash(files: readonly RuleFile[], found: readonly Problem[]): string {
  const digest = createHash('sha256')
  for (const { name, text } of files) digest.update(`${name.length}:${name}${text.length}:${text}`)
  return digest.update(JSON.stringify(found)).digest('hex')
}

/** What one file holds. */
interface FileReading {
  readonly rules: readonly FileRule[]
  /** By position. */
  readonly problems: readonly Problem[]
  readonly names: readonly PlacedName[]
}

/** A rule's name, be the rest of the rule right or not. */
interface PlacedName {
  readonly name: string
  /** `file:line` of the rule. */
  readonly rule: string
  /** Where it stands; the message is left open. */
  readonly place: Problem
}

/** What has the right shape is looked at more closely even when the rest of its rule, or other rules, have not. */
function readRules({ name: file, text }: RuleFile): FileReading {
  const names: PlacedName[] = []
  const reading = readDocument(text, file, RULES_SCHEMA)
  const found = [...reading.problems]
  const rules = writtenRules(reading.unchecked).flatMap((written, index) => {
    const complete =
      checkValue(written, RULE_SCHEMA).length === 0 ? completeRule(written as WrittenRule) : null
    const part = complete ?? judgedPart(written)
    for (const problem of validateRule(part)) found.push(problemIn(reading, file, index, problem))
    const { line } = reading.locate(['rules', index])
    if (part.name !== undefined) {
      // At once, so that the parsed file is let go.
      const place = problemIn(reading, file, index, { path: 'name', message: '' })
      names.push({ name: part.name, rule: `${file}:${line}`, place })
    }
    return complete === null ? [] : [{ ...complete, id: uuidv5(complete.name), path: file, line }]
  })
  return { rules, problems: found.sort((a, b) => a.line - b.line || a.column - b.column), names }
}

/** What is right of a rule whose shape is not: a pattern that was left out is the default, a wrong one is none. */
function judgedPart(written: unknown): Partial<RuleDeclaration> {
  const part: Partial<RuleDeclaration> | null = soundPart(written, RULE_SCHEMA)
  if (part === null) return {}
  return 'pattern' in (written as object) ? part : { ...part, pattern: '' }
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

function duplicates(names: readonly PlacedName[]): Problem[] {
  const first = new Map<string, PlacedName>()
  const problems: Problem[] = []
  for (const placed of names) {
    const other = first.get(placed.name)
    if (other === undefined) first.set(placed.name, placed)
    else {
      const message = `the name \`${placed.name}\` is taken by ${other.rule}; names are unique across files`
      problems.push({ ...placed.place, message })
    }
  }
  return problems
}
