// Declarations as values: read from an API request, compared by hash, printed as a file.

import { hash } from 'node:crypto'
import { checkValue, formatPath, printDocument, type ValueProblem } from '../core/document.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonObject, JsonValue } from '../core/json.ts'
import { nameProblem, type ParsedRule, parseRule } from '../policy/parse-rule.ts'
import type { Rule, RuleDeclaration } from '../policy/rule.ts'
import { CONDITION_FIELDS } from '../policy/tool-conditions.ts'
import { VALUE_FIELDS } from '../policy/value-fields.ts'
import { RULE_NAMESPACES_SCHEMA, RULE_SCHEMA } from './schema.ts'

/** Hexadecimal digits of a revision: 64 bits distinguish the revisions of one gateway. */
const REVISION_DIGITS = 16

/** A rule as files and the API write it: fields with a default may be missing. */
export type WrittenRule = Omit<RuleDeclaration, 'pattern' | 'enabled'> &
  Partial<Pick<RuleDeclaration, 'pattern' | 'enabled'>>

/** Fills in the schema's defaults. */
export const completeRule = (written: WrittenRule): RuleDeclaration => ({
  ...written,
  pattern: written.pattern ?? '',
  enabled: written.enabled ?? true,
})

/**
 * Parses a rule from an API request.
 * @throws GatewayError 400 naming the first field at fault and what is allowed
 */
export function readDeclaration(fields: JsonObject): ParsedRule<RuleDeclaration> {
  const shape = checkValue(fields, RULE_SCHEMA)
  const missing = shape.find((problem) => problem.missing && problem.path.length === 1)
  if (missing !== undefined) throw refusal('missing_required_parameter', missing)
  const first = shape[0]
  if (first !== undefined) throw refusal('invalid_body', first)
  const declaration = completeRule(fields as unknown as WrittenRule)
  const unnamed = nameProblem(declaration.name)
  const parsed = unnamed === null ? parseRule(declaration) : { problems: [unnamed] }
  if (!('problems' in parsed)) return parsed
  const { path, message } = parsed.problems[0]!
  const isMissing = (path === 'pattern' || path === 'action') && fields[path] === undefined
  const code = isMissing ? 'missing_required_parameter' : 'invalid_body'
  throw new GatewayError(code, `${path} ${message}.`, { param: path })
}

/**
 * Reads the globs of an API request to a hub.
 * @param value undefined and null for all namespaces
 * @throws GatewayError 400
 */
export function readNamespaces(value: JsonValue | undefined): { readonly namespaces?: readonly string[] } {
  if (value === undefined || value === null) return {}
  const [first] = checkValue(value, RULE_NAMESPACES_SCHEMA)
  if (first !== undefined) throw refusal('invalid_body', { ...first, path: ['namespaces', ...first.path] })
  return { namespaces: value as readonly string[] }
}

function refusal(code: 'missing_required_parameter' | 'invalid_body', problem: ValueProblem): GatewayError {
  const param = formatPath(problem.path)
  // A message that quotes the schema already ends with a full stop.
  const message = problem.message.replace(/\.$/, '')
  return new GatewayError(code, `${param === '' ? 'the rule' : param} ${message}.`, { param })
}

/** Fields that few rules have. */
const LATER_FIELDS = [...CONDITION_FIELDS, ...VALUE_FIELDS] as const

/** The fields of a declaration in a fixed order, so that equal rules give equal text. */
const canonicalParts = ({
  name,
  type,
  pattern,
  action,
  enabled,
  description,
  match,
  per,
  placeholders,
  restore,
  ...others
}: RuleDeclaration): unknown[] => [
  name,
  type,
  pattern,
  action ?? null,
  enabled,
  description ?? null,
  match?.models ?? null,
  match?.keys ?? null,
  match?.direction ?? null,
  // Rules without these keep the hashes of earlier releases.
  ...(per === undefined ? [] : ['per', per]),
  ...(match?.labels === undefined ? [] : ['labels', match.labels]),
  ...(match?.parts === undefined ? [] : ['parts', match.parts]),
  ...(match?.apis === undefined ? [] : ['apis', match.apis]),
  ...(placeholders === undefined ? [] : ['placeholders', placeholders]),
  ...(restore === undefined ? [] : ['restore', restore]),
  ...LATER_FIELDS.flatMap((name) => (others[name] === undefined ? [] : [name, others[name]])),
]

/** SHA-256 of a declaration, hex. */
export const declarationHash = (declaration: RuleDeclaration): string =>
  hash('sha256', JSON.stringify(canonicalParts(declaration)))

/**
 * The revision of a rule set: the first 16 hexadecimal digits of SHA-256 over ids and declarations,
 * in order.
 */
export const revisionOf = (rules: readonly Rule[]): string =>
  hash('sha256', JSON.stringify(rules.map((rule) => [rule.id, ...canonicalParts(rule)]))).slice(
    0,
    REVISION_DIGITS,
  )

/**
 * Prints rules as a file that loads to the same declarations. Equal rules give equal bytes.
 * @param namespaces of the file, at a hub
 */
export function printRules(rules: readonly RuleDeclaration[], namespaces?: readonly string[]): string {
  const written = rules.map(
    ({ name, type, pattern, per, placeholders, action, restore, enabled, match, ...others }) => ({
      name,
      ...(others.description === undefined ? {} : { description: others.description }),
      type,
      pattern,
      ...Object.fromEntries(
        LATER_FIELDS.flatMap((field) => (others[field] === undefined ? [] : [[field, others[field]]])),
      ),
      ...(per === undefined ? {} : { per }),
      ...(placeholders === undefined ? {} : { placeholders }),
      ...(action === undefined ? {} : { action }),
      ...(restore === undefined ? {} : { restore }),
      enabled,
      ...(match === undefined ? {} : { match }),
    }),
  )
  return printDocument({ ...(namespaces !== undefined && { namespaces }), rules: written })
}
