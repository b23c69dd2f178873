// A dry run of a rule against the newest calls, over REST.

import { GatewayError } from '../../core/errors.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { MAXIMUM_TRIED_CALLS, type RuleTrials, type TrialResult } from '../../pipeline/record/rule-trials.ts'
import type { ParsedRule } from '../../policy/parse-rule.ts'
import { nameKey, type Rule } from '../../policy/rule.ts'
import { ruleTypeOf } from '../../policy/rule-types.ts'
import { assertFits, assertKindsDefined } from '../../rules/conflicts.ts'
import { readDeclaration } from '../../rules/declaration.ts'
import type { EffectiveRules } from '../../rules/effective.ts'
import { ruleSetOf } from '../../rules/rule-set.ts'
import { type ApiRoute, ok, readFields } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'

const DEFAULT_CALLS = 100
/** In the place of the id of a rule that is not saved. */
const TRIAL_ID = 'trial'

export const ruleTrialRoute = (
  rules: Pick<EffectiveRules, 'parsed' | 'openKinds'>,
  trials: RuleTrials,
): ApiRoute => ({
  method: 'POST',
  path: '/api/v1/rules/try',
  // A reader who tries patterns can learn texts.
  access: 'auditor',
  operation: operation(
    'Tries a rule against the newest calls, as if it were added to the rules in force or replaced the one of its name. Changes nothing. Limits cannot be tried.',
    { answer: 'RuleTrial', body: 'TriedRule', errors: [503] },
  ),
  async answer(request) {
    const { rule: fields, calls = DEFAULT_CALLS } = await readFields(request, ['rule', 'calls'])
    if (fields === undefined)
      throw new GatewayError('missing_required_parameter', 'rule is required.', { param: 'rule' })
    if (!isObject(fields))
      throw new GatewayError('invalid_body', 'rule must be an object, as POST /api/v1/rules takes it.', {
        param: 'rule',
      })
    if (!(Number.isInteger(calls) && Number(calls) >= 1 && Number(calls) <= MAXIMUM_TRIED_CALLS))
      throw new GatewayError(
        'invalid_body',
        `calls must be a whole number from 1 to ${MAXIMUM_TRIED_CALLS}.`,
        {
          param: 'calls',
        },
      )
    const tried = triedRule(fields)
    const others = rules.parsed.filter((one) => nameKey(one.rule.name) !== nameKey(tried.rule.name))
    assertFits([...others, { ...tried, rule: { ...tried.rule, declaredEnabled: true } }], 'pattern')
    assertKindsDefined(tried, rules.parsed, rules.openKinds)
    const set = ruleSetOf([...others, tried], rules.openKinds)
    const result = await trials.run(set, tried.rule.name, Number(calls))
    return ok(describe(result))
  },
})

/** @throws GatewayError 400 naming the first field at fault, and for a limit */
function triedRule(fields: JsonObject): ParsedRule<Rule> {
  const { rule, pattern } = readDeclaration(fields)
  if (ruleTypeOf(rule.type).isCounted === true)
    throw new GatewayError(
      'invalid_body',
      'type: a limit depends on traffic, and past calls say nothing about it; try it with the action `monitor`.',
      { param: 'type' },
    )
  return { rule: { ...rule, id: TRIAL_ID, enabled: true }, pattern }
}

const describe = ({ samples, differences, ...counts }: TrialResult): JsonObject => ({
  ...counts,
  differences: differences.map((difference) => ({ ...difference })),
  samples: samples.map(({ entry, ...difference }) => ({
    log_id: entry.id,
    created_at: entry.created_at,
    key_id: entry.key_id,
    key_name: entry.key_name,
    model: entry.model,
    ...difference,
  })),
})
