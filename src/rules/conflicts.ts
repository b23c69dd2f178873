// Why the API may not change a rule, in words.

import { GatewayError } from '../core/errors.ts'
import type { Rule } from '../policy/rule.ts'
import { validateTogether } from '../policy/validate.ts'
import type { EffectiveRule } from './merge.ts'

/** An override ends by itself, so that what a rule declares counts beside what it is now. @param param of the request */
export function assertFits(
  rules: readonly (Rule & Pick<EffectiveRule, 'declaredEnabled'>)[],
  param: string,
): void {
  const ever = rules.map((rule) => ({ ...rule, enabled: rule.enabled || rule.declaredEnabled }))
  const message = validateTogether(ever)
  if (message !== null) throw new GatewayError('invalid_body', `${message}.`, { param })
}

export const conflict = (message: string): GatewayError => new GatewayError('conflict', message)

export const sourceOf = ({ source }: EffectiveRule): string =>
  source.kind === 'file' ? `${source.path}:${source.line}` : 'made through the API'

/** Names are unique, whoever declares them. @throws GatewayError 409 */
export function assertFree(rules: readonly EffectiveRule[], name: string): void {
  const same = rules.find((rule) => rule.name === name)
  if (same !== undefined) throw conflict(`A rule named \`${name}\` exists already (${sourceOf(same)}).`)
}
