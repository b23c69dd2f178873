// Reads the results, in an answer, of tools that the provider ran: rules may ask about them, for
// the calls after them.

import { decodeView } from '../../chat/inner-json/json-text.ts'
import type { ToolCall, ToolResult } from '../../chat/tool-format.ts'
import { ValueWalk } from '../../chat/value-walk.ts'
import type { JsonValue } from '../../core/json.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import type { RuleReference } from '../../policy/rule.ts'
import type { CallRules } from '../../policy/tool-rules.ts'
import { readArguments } from '../scan/call-arguments.ts'
import { type NeutralModel, scoreNeutral } from './neutral-score.ts'

/** The rules for the calls after some results, in steps. */
export function* rulesAfter(
  rules: CallRules,
  results: readonly ToolResult[],
  model: NeutralModel,
): Steps<CallRules> {
  if (results.length === 0) return rules
  let score = 0
  if (rules.asksForScore)
    for (const { value } of results) score = Math.max(score, yield* scoreOf(value, model))
  return rules.following(
    results.map(({ tool }) => tool),
    score,
  )
}

/** The highest score of the texts of a result: of each alone, and of all in their order. */
function* scoreOf(value: JsonValue, model: NeutralModel): Steps<number> {
  const texts = yield* textsOf(value)
  const pace = new Pace()
  let score = 0
  for (const text of texts.length > 1 ? [...texts, texts.join(' ')] : texts) {
    if (pace.isOver(text.length)) yield
    const view = yield* decodeView({ text, encoding: 'plain' }, 'response')
    score = Math.max(score, (yield* scoreNeutral(view, 'windows', model)).score)
  }
  return score
}

/** All strings of a value. */
function* textsOf(value: JsonValue): Steps<string[]> {
  const texts: string[] = []
  const walk = new ValueWalk(value)
  for (let one = walk.next(); one !== undefined; one = walk.next()) {
    if (walk.isStepOver()) yield
    if (typeof one === 'string' && one !== '') texts.push(one)
  }
  return texts
}

/** The rules that fire on the calls of an answer, in steps. Counts nothing. */
export function* firedByCalls(
  first: CallRules | null,
  calls: readonly ToolCall[],
  model: NeutralModel,
): Steps<ReadonlySet<RuleReference>> {
  const fired = new Set<RuleReference>()
  if (first === null) return fired
  let rules = first
  for (const { tool, given, after } of calls) {
    yield
    rules = yield* rulesAfter(rules, after, model)
    const { hits, needsArguments } = rules.named(tool)
    for (const rule of hits) fired.add(rule)
    if (!needsArguments) continue
    for (const rule of (yield* rules.withArguments(tool, readArguments(given))).hits) fired.add(rule)
  }
  return fired
}
