// Reasons for which the API may not change a rule.

import { GatewayError } from '../core/errors.ts'
import type { PiiKind } from '../core/finding.ts'
import { KeywordUsage } from '../policy/keyword-limits.ts'
import { openKindsOf, undefinedKind, undefinedKindsOf } from '../policy/open-kinds.ts'
import type { ParsedRule } from '../policy/parse-rule.ts'
import { nameKey, type Rule, type RuleDeclaration, spelledAs } from '../policy/rule.ts'
import type { EffectiveRule } from './merge.ts'

type DeclaredRule = Rule & Pick<EffectiveRule, 'declaredEnabled'>

/**
 * Checks the limits of the whole rule set. A rule counts if it is enabled now or by its
 * declaration, because an override ends by itself.
 * @param param the request field at fault
 * @throws GatewayError 400
 */
export function assertFits(rules: readonly ParsedRule<DeclaredRule>[], param: string): void {
  const ever = rules.map(({ rule, pattern }) => {
    return { rule: { ...rule, enabled: rule.enabled || rule.declaredEnabled }, pattern }
  })
  const message = new KeywordUsage().add(ever).exceeded()
  if (message !== null) throw new GatewayError('invalid_body', `${message}.`, { param })
}

/**
 * Checks that something defines each kind that a rule names.
 * @param rules all that may define one
 * @throws GatewayError 400
 */
export function assertKindsDefined(
  rule: ParsedRule<RuleDeclaration>,
  rules: readonly ParsedRule<RuleDeclaration>[],
  openKinds: readonly PiiKind[],
): void {
  const [kind] = undefinedKindsOf(rule, new Set([...openKinds, ...openKindsOf(rules)]))
  if (kind === undefined) return
  throw new GatewayError('invalid_body', `pattern ${undefinedKind(kind)}.`, { param: 'pattern' })
}

export const conflict = (message: string): GatewayError => new GatewayError('conflict', message)

/** Where a rule is declared, for messages. */
export const sourceOf = ({ source }: EffectiveRule): string =>
  source.kind === 'file'
    ? `${source.path}:${source.line}`
    : `made through the API${source.kind === 'hub' ? ' of the hub' : ''}`

/** Checks that no rule of a file or of the API has the name. @throws GatewayError 409 */
export function assertFree(rules: readonly EffectiveRule[], name: string): void {
  const key = nameKey(name)
  const same = rules.find((rule) => nameKey(rule.name) === key)
  if (same === undefined) return
  const where = `${sourceOf(same)}${spelledAs(same.name, name)}`
  throw conflict(`A rule named \`${name}\` exists already (${where}); choose another name.`)
}
