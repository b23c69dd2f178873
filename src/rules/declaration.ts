// A rule's declaration as a value: read from the API, compared by hash, printed as a file. Knows no state.

import { hash } from 'node:crypto'
import { checkValue, formatPath, printDocument, type ValueProblem } from '../core/document.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { Rule, RuleDeclaration } from '../policy/rule.ts'
import { validateRule } from '../policy/validate.ts'
import { RULE_SCHEMA } from './schema.ts'

/** Hexadecimal digits of a revision: 64 bits tell revisions of one gateway apart. */
const REVISION_DIGITS = 16

/** A rule as files and the API may write it: what has a default can be left out. */
export type WrittenRule = Omit<RuleDeclaration, 'pattern' | 'enabled'> &
  Partial<Pick<RuleDeclaration, 'pattern' | 'enabled'>>

/** The declaration with the schema's defaults filled in. */
export const completeRule = (written: WrittenRule): RuleDeclaration => ({
  ...written,
  pattern: written.pattern ?? '',
  enabled: written.enabled ?? true,
})

/**
 * A declaration handed in through the API.
 * @throws GatewayError 400 naming the first field at fault and what is allowed
 */
export function readDeclaration(fields: JsonObject): RuleDeclaration {
  const shape = checkValue(fields, RULE_SCHEMA)
  const missing = shape.find((problem) => problem.missing && problem.path.length === 1)
  if (missing !== undefined) throw refusal('missing_required_parameter', missing)
  const first = shape[0]
  if (first !== undefined) throw refusal('invalid_body', first)
  const declaration = completeRule(fields as unknown as WrittenRule)
  const [problem] = validateRule(declaration)
  if (problem !== undefined) {
    const { path, message } = problem
    const isMissing = path === 'pattern' && fields['pattern'] === undefined
    const code = isMissing ? 'missing_required_parameter' : 'invalid_body'
    throw new GatewayError(code, `${path} ${message}.`, { param: path })
  }
  return declaration
}

function refusal(code: 'missing_required_parameter' | 'invalid_body', problem: ValueProblem): GatewayError {
  const param = formatPath(problem.path)
  // One that quotes the schema ends as a sentence already.
  const message = problem.message.replace(/\.$/, '')
  return new GatewayError(code, `${param === '' ? 'the rule' : param} ${message}.`, { param })
}

/** Every part of a declaration in one fixed order, so that equal rules give equal text. */
const canonicalParts = ({
  name,
  type,
  pattern,
  action,
  enabled,
  description,
  match,
}: RuleDeclaration): unknown[] => [
  name,
  type,
  pattern,
  action,
  enabled,
  description ?? null,
  match?.models ?? null,
  match?.keys ?? null,
  match?.direction ?? null,
]

/** SHA-256 of a declaration, hex: changes exactly when the declaration does. */
export const declarationHash = (declaration: RuleDeclaration): string =>
  hash('sha256', JSON.stringify(canonicalParts(declaration)))

/** Names a list of rules in force: the first 16 hexadecimal digits of SHA-256 over ids and declarations, in order. */
export const revisionOf = (rules: readonly Rule[]): string =>
  hash('sha256', JSON.stringify(rules.map((rule) => [rule.id, ...canonicalParts(rule)]))).slice(
    0,
    REVISION_DIGITS,
  )

/** The rules as a file that loads to the same declarations; the same bytes for the same rules. */
export function printRules(rules: readonly RuleDeclaration[]): string {
  const written = rules.map(({ name, type, pattern, action, enabled, description, match }) => ({
    name,
    ...(description === undefined ? {} : { description }),
    type,
    pattern,
    action,
    enabled,
    ...(match === undefined ? {} : { match }),
  }))
  return printDocument({ rules: written })
}
