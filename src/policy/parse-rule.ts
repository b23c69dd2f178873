// Parses one declared rule: checks what the schema cannot, and keeps the parsed pattern.

import { isLegible, LEGIBLE } from '../core/hidden-characters.ts'
import { RULE_ACTIONS } from '../core/rule-action.ts'
import { controlCharacterIn } from './control-character.ts'
import { MAXIMUM_GLOB_CHARACTERS } from './glob.ts'
import { isReplacing, isRestoring, type Rule, type RuleDeclaration } from './rule.ts'
import { parsePattern, type RulePattern, ruleTypeOf, typeNames } from './rule-types.ts'
import { CONDITION_FIELDS } from './tool-conditions.ts'
import { VALUE_FIELDS, type ValueField } from './value-fields.ts'

/**
 * A valid rule with its pattern parsed. Plain data that survives JSON. Only `parseRule` makes one.
 */
export interface ParsedRule<Declared extends RuleDeclaration = Rule> {
  readonly rule: Declared
  readonly pattern: RulePattern
}

/** An error in one declaration. */
export interface RuleProblem {
  /** Relative to the rule: `pattern`, `action`, `match.models[0]`. */
  readonly path: string
  readonly message: string
}

/**
 * Longest declaration, bytes of JSON. A rule in force is sealed in the log, whose entries hold
 * little more.
 */
const MAXIMUM_DECLARATION_BYTES = 245_760

/** Names of the types that may have a field. */
const COUNTED = typeNames(({ isCounted }) => isCounted)
const REPLACING = typeNames(({ replaces }) => replaces)
const READING = typeNames(({ readsTexts }) => readsTexts)
/** By field of VALUE_FIELDS. */
const OWNERS = Object.fromEntries(
  VALUE_FIELDS.map((field) => [field, typeNames(({ valueFields }) => valueFields?.includes(field))]),
) as Record<ValueField, string>
const NARROWING = typeNames(({ narrowsTools }) => narrowsTools)

/**
 * Returns the error of the name of a new rule, or null. Not one of `parseRule`: a rule that is
 * stored under such a name stays in force.
 */
export const nameProblem = (name: string): RuleProblem | null =>
  isLegible(name) ? null : { path: 'name', message: `must have ${LEGIBLE}` }

/** Parses a declaration that fits the schema, or returns every error in it. */
export function parseRule<Declared extends RuleDeclaration>(
  rule: Declared,
): ParsedRule<Declared> | { readonly problems: readonly RuleProblem[] } {
  const { pattern, problems } = parse(rule)
  return pattern === null || problems.length > 0 ? { problems } : { rule, pattern }
}

/**
 * Returns the errors in the fields that are present, for a rule whose other fields do not fit the
 * schema.
 * @param isActionMissing the rule has no action, not even one that does not fit
 */
export const checkRulePart = (
  part: Partial<RuleDeclaration>,
  isActionMissing: boolean,
): readonly RuleProblem[] => parse(part, isActionMissing).problems

function parse(
  declaration: Partial<RuleDeclaration>,
  isActionMissing = declaration.action === undefined,
): {
  readonly pattern: RulePattern | null
  readonly problems: readonly RuleProblem[]
} {
  const { type, action, pattern: source, match } = declaration
  const problems: RuleProblem[] = []
  const add = (path: string, message: string) => problems.push({ path, message })
  const value = type === undefined ? null : ruleTypeOf(type)
  const actions = value?.actions ?? RULE_ACTIONS
  if (actions.length === 0) {
    if (action !== undefined) add('action', `must be removed: ${type} rules have no action`)
  } else if (isActionMissing) add('action', `is required; use ${alternatives(actions)}`)
  else if (action !== undefined && !actions.includes(action)) {
    add('action', `\`${action}\` is not allowed for ${type} rules; use ${alternatives(actions)}`)
  }
  const parsed = type === undefined || source === undefined ? null : parsePattern(type, source, declaration)
  if (parsed !== null && 'messages' in parsed) {
    for (const message of parsed.messages) add('pattern', message)
    for (const { path, message } of parsed.others ?? []) add(path, message)
  }
  if (value !== null && !value.narrowsTools)
    for (const field of CONDITION_FIELDS)
      if (declaration[field] !== undefined) add(field, `is allowed for ${NARROWING} rules only; remove it`)
  for (const field of VALUE_FIELDS)
    if (declaration[field] !== undefined && value !== null && value.valueFields?.includes(field) !== true)
      add(field, `is allowed for ${OWNERS[field]} rules only; remove it`)
  if (
    declaration.placeholder !== undefined &&
    value?.valueFields?.includes('placeholder') &&
    action !== 'redact'
  )
    add('placeholder', 'is allowed with the action `redact` only; remove it')
  const tooLong = sizeProblem(declaration)
  if (tooLong !== null) add('pattern', tooLong)
  const direction = match?.direction ?? 'both'
  const bounds = value?.directions
  if (bounds !== undefined && direction !== 'both' && !bounds.allowed.includes(direction))
    add('match.direction', `must be ${alternatives([...bounds.allowed, 'both'])}: ${bounds.because}`)
  if (declaration.per !== undefined && value !== null && !value.isCounted)
    add('per', `is allowed for ${COUNTED} rules only; remove it`)
  if (declaration.placeholders !== undefined && value !== null) {
    if (!value.replaces) add('placeholders', `is allowed for ${REPLACING} rules only; remove it`)
    else if (action !== undefined && (!isReplacing(action) || action === 'pseudonym'))
      add('placeholders', 'is allowed with the actions `redact` and `restore` only; remove it')
  }
  if (match?.parts !== undefined && value !== null) {
    if (!value.readsTexts) add('match.parts', `is allowed for ${READING} rules only; remove it`)
    else if (direction === 'response' && !match.parts.includes('assistant'))
      add('match.parts', 'must name `assistant`, whose text an answer is; or remove `match.direction`')
  }
  if (declaration.restore !== undefined && value !== null) {
    if (!value.replaces) add('restore', `is allowed for ${REPLACING} rules only; remove it`)
    else if (action !== undefined && action !== 'pseudonym')
      add('restore', 'is allowed with the action `pseudonym` only; remove it, or use `action: restore`')
  }
  if (isRestoring(declaration) && match?.direction === 'response') {
    add('match.direction', 'must be `request` or `both`: only values redacted from a prompt can be restored')
  }
  for (const list of ['models', 'keys'] as const) {
    match?.[list]?.forEach((glob, index) => {
      if (glob.length > MAXIMUM_GLOB_CHARACTERS) {
        add(`match.${list}[${index}]`, `must have at most ${MAXIMUM_GLOB_CHARACTERS} characters`)
      }
      const control = controlCharacterIn(glob)
      if (control !== null) add(`match.${list}[${index}]`, control)
    })
  }
  return { pattern: parsed === null || 'messages' in parsed ? null : parsed, problems }
}

function sizeProblem(declaration: object): string | null {
  const bytes = Buffer.byteLength(JSON.stringify(declaration))
  if (bytes <= MAXIMUM_DECLARATION_BYTES) return null
  return `makes the rule ${bytes} bytes of JSON; at most ${MAXIMUM_DECLARATION_BYTES} are allowed; split the rule`
}

/** `a`, `b` or `c`, each in backticks. */
function alternatives(values: readonly string[]): string {
  const quoted = values.map((value) => `\`${value}\``)
  return quoted.length < 2 ? quoted.join() : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}
