// Parses the texts of rule files into one snapshot, with the errors of every file. Knows neither
// where the texts come from nor what is in force.

import { createHash } from 'node:crypto'
import { checkValue, type DocumentReading, formatPath, type Path, readDocument } from '../core/document.ts'
import type { PiiKind } from '../core/finding.ts'
import { uuidv5 } from '../core/ids.ts'
import { firstOf, type Problem } from '../core/problem.ts'
import { soundPart } from '../core/valid-part.ts'
import { KeywordUsage } from '../policy/keyword-limits.ts'
import { openKindsOf, undefinedKind, undefinedKindsOf } from '../policy/open-kinds.ts'
import {
  checkRulePart,
  nameProblem,
  type ParsedRule,
  parseRule,
  type RuleProblem,
} from '../policy/parse-rule.ts'
import { nameKey, type Rule, type RuleDeclaration, spelledAs } from '../policy/rule.ts'
import { completeRule, type WrittenRule } from './declaration.ts'
import type { RuleFile, RuleReader } from './files.ts'
import { RULE_SCHEMA, RULES_SCHEMA } from './schema.ts'

/** A rule with the position of its declaration. */
export interface FileRule extends Rule {
  /** As problems name the file. */
  readonly path: string
  /** 1-based. */
  readonly line: number
  /** Globs of the namespaces that the file is for; absent for all. */
  readonly namespaces?: readonly string[]
}

/** The content of a rule folder at one moment. Plain data that survives JSON. */
export interface RuleSnapshot {
  /** In the order of declaration; complete only when there are no problems. */
  readonly rules: readonly ParsedRule<FileRule>[]
  readonly problems: readonly Problem[]
  /** Kinds that rules name and none defines, for the configuration to define; absent for none. */
  readonly undefinedKinds?: readonly UndefinedKind[]
  /** SHA-256 over names and bytes of the files, hex: equal hashes mean an equal snapshot. */
  readonly contentHash: string
}

/** A kind that nothing in the files defines, with the error that this is. */
export interface UndefinedKind {
  readonly kind: PiiKind
  readonly problem: Problem
}

/** Returns the errors of a snapshot, those of kinds that nothing defines among them. */
export function problemsOf(
  { problems, undefinedKinds = [] }: RuleSnapshot,
  openKinds: readonly PiiKind[],
): readonly Problem[] {
  const unknown = undefinedKinds.filter(({ kind }) => !openKinds.includes(kind))
  return unknown.length === 0 ? problems : firstOf([...problems, ...unknown.map(({ problem }) => problem)])
}

export interface SnapshotOptions {
  /** Called with the name of each file before it is parsed. */
  readonly onFile?: (name: string) => void
  /** Whose files they are; without it those of either. */
  readonly reader?: RuleReader
}

/**
 * Parses the texts of rule files.
 * @param found errors found while the files were read
 */
export function snapshotOf(
  files: readonly RuleFile[],
  found: readonly Problem[] = [],
  { onFile, reader = 'hub' }: SnapshotOptions = {},
): RuleSnapshot {
  const usage = new KeywordUsage()
  const readings = files.map((file) => {
    onFile?.(file.name)
    const parsed = parseFile(file, reader)
    // Rules beyond the limits are never in force, and their patterns may need more memory than
    // there is.
    return usage.add(parsed.rules).exceeded() === null ? parsed : { ...parsed, rules: [] }
  })
  const rules = readings.flatMap((reading) => reading.rules)
  const taken = duplicates(readings.flatMap(({ names }) => names))
  const problems = [...found, ...readings.flatMap((reading) => reading.problems), ...taken]
  const exceeded = usage.exceeded()
  if (exceeded !== null && problems.length === 0) {
    problems.push({ file: files[0]?.name ?? '', line: 0, column: 0, path: '', message: exceeded })
  }
  const defined = new Set(openKindsOf(rules))
  const undefinedKinds = readings.flatMap((reading) => reading.kinds.filter(({ kind }) => !defined.has(kind)))
  return Object.freeze({
    rules,
    problems: firstOf(problems),
    ...(undefinedKinds.length > 0 && { undefinedKinds }),
    contentHash: contentHash(files, found),
  })
}

/** The content hash of a snapshot, without parsing the files. */
export function contentHash(files: readonly RuleFile[], found: readonly Problem[]): string {
  const digest = createHash('sha256')
  for (const { name, text } of files) digest.update(`${name.length}:${name}${text.length}:${text}`)
  return digest.update(JSON.stringify(found)).digest('hex')
}

/** The content of one file. */
interface ParsedFile {
  readonly rules: readonly ParsedRule<FileRule>[]
  /** By position. */
  readonly problems: readonly Problem[]
  readonly names: readonly PlacedName[]
  /** Open kinds that its rules name. */
  readonly kinds: readonly UndefinedKind[]
}

/** The name of a rule, which may have errors elsewhere. */
interface PlacedName {
  readonly name: string
  /** `file:line` of the rule. */
  readonly rule: string
  /** The position of the name, without a message. */
  readonly position: Problem
}

/**
 * Checks every field that fits the schema, even when the rest of its rule, or another rule, does
 * not.
 */
function parseFile({ name: file, text }: RuleFile, reader: RuleReader): ParsedFile {
  const names: PlacedName[] = []
  const kinds: UndefinedKind[] = []
  const reading = readDocument(text, file, RULES_SCHEMA)
  const found = [...reading.problems]
  const scope = scopeOf(reading.unchecked)
  if ('namespaces' in scope && reader === 'gateway')
    found.push({ file, ...reading.locate(['namespaces']), path: 'namespaces', message: FOR_HUBS })
  const rules = writtenRules(reading.unchecked).flatMap((written, index) => {
    const { line } = reading.locate(['rules', index])
    const complete =
      checkValue(written, RULE_SCHEMA).length === 0 ? completeRule(written as WrittenRule) : null
    const part = complete ?? fittingPart(written)
    if (part.name !== undefined) {
      // The position is looked up now, so that the YAML document can be released.
      const position = problemIn(reading, file, index, { path: 'name', message: '' })
      names.push({ name: part.name, rule: `${file}:${line}`, position })
      const problem = nameProblem(part.name)
      if (problem !== null) found.push(problemIn(reading, file, index, problem))
    }
    const parsed =
      complete === null
        ? { problems: checkRulePart(part, lacksAction(written)) }
        : parseRule({ ...complete, id: uuidv5(complete.name), path: file, line, ...scope })
    if (!('problems' in parsed)) {
      for (const kind of undefinedKindsOf(parsed, NOTHING)) {
        const problem = problemIn(reading, file, index, { path: 'pattern', message: undefinedKind(kind) })
        kinds.push({ kind, problem })
      }
      return [parsed]
    }
    for (const problem of parsed.problems) found.push(problemIn(reading, file, index, problem))
    return []
  })
  return { rules, problems: found.sort((a, b) => a.line - b.line || a.column - b.column), names, kinds }
}

const NOTHING: ReadonlySet<string> = new Set()

/**
 * The fields that fit the schema. A missing pattern is the default; one that does not fit is left
 * out.
 */
function fittingPart(written: unknown): Partial<RuleDeclaration> {
  const part: Partial<RuleDeclaration> | null = soundPart(written, RULE_SCHEMA).value
  if (part === null) return {}
  return 'pattern' in (written as object) ? part : { ...part, pattern: '' }
}

const lacksAction = (written: unknown): boolean =>
  typeof written === 'object' && written !== null && !('action' in written)

const FOR_HUBS = 'is for the rule files of a hub; remove it, or move the file to `rules.path` of a hub'

/** The namespaces of a file, which may not fit the schema. */
const scopeOf = (document: unknown): Pick<FileRule, 'namespaces'> =>
  typeof document === 'object' && document !== null && 'namespaces' in document
    ? { namespaces: document.namespaces as readonly string[] }
    : {}

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

/** Splits `match.models[0]` into its parts. */
const toPath = (text: string): Path =>
  [...text.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([part, index]) =>
    index === undefined ? part : Number(index),
  )

function duplicates(names: readonly PlacedName[]): Problem[] {
  const first = new Map<string, PlacedName>()
  const problems: Problem[] = []
  for (const placed of names) {
    const key = nameKey(placed.name)
    const other = first.get(key)
    if (other === undefined) first.set(key, placed)
    else {
      const spelled = spelledAs(other.name, placed.name)
      const message = `the name \`${placed.name}\` is taken by ${other.rule}${spelled}; names are unique across files`
      problems.push({ ...placed.position, message })
    }
  }
  return problems
}
