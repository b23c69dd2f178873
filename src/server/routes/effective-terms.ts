// What is in force for the calls of one key, by the rules and counts that decide on them.

import type { Milliseconds } from '../../core/clock.ts'
import type { JsonObject } from '../../core/json.ts'
import type { KeyRecord } from '../../keys/key-record.ts'
import { limitsOfKey } from '../../pipeline/limits/limits-in-use.ts'
import type { Pipeline } from '../../pipeline/pipeline.ts'
import { combineCapture } from '../../policy/capture-mode.ts'
import { matchedKey, type RuleSet, type Selection } from '../../policy/compile.ts'
import type { RuleReference } from '../../policy/rule.ts'
import type { Counters } from '../../store/limits/counters.ts'
import { countsOf, describeLeft, type HubCounts } from './usage-limits.ts'

/** Returns what is in force for a key. @param keys all keys, which share counts */
export type EffectiveTermsOf = (key: KeyRecord, keys: readonly KeyRecord[]) => JsonObject

type Deciding = Pick<Pipeline, 'rules' | 'parallel' | 'capture' | 'clock'>

/**
 * @param pipeline of calls that begin now
 * @param counters of this process
 * @param hub counts some limits over a fleet; null without one
 */
export const effectiveTerms =
  (pipeline: () => Deciding, counters: Pick<Counters, 'inUse'>, hub: HubCounts | null): EffectiveTermsOf =>
  (key, keys) => {
    const { rules, parallel, capture, clock } = pipeline()
    const nowMs = clock.now()
    const inForce = rules()
    // Each rule that may concern a call with the key, for any model.
    const selection = inForce.select(null, matchedKey(key))
    const limits = limitsOfKey(selection, countsOf(counters, hub, nowMs), parallel, { keys, key }, nowMs)
    const onlyFor = modelsOf(inForce)
    return {
      models: modelsFor(selection, key, onlyFor),
      limits: limits.map((use) => describeLimit(use, onlyFor, nowMs)),
      capture: captureFor(selection, capture, key, onlyFor),
    }
  }

type ModelsOf = (rule: RuleReference | null) => string[] | null

/** Returns the globs of the models that a rule concerns; null for all. */
function modelsOf({ rules }: RuleSet): ModelsOf {
  const globs = new Map(rules.map(({ id, match }) => [id, match?.models ?? null]))
  return (rule) => {
    const models = rule === null ? null : (globs.get(rule.id) ?? null)
    return models === null ? null : [...models]
  }
}

const ANY_MODEL = [{ pattern: '*', rule: null, only_for: null }]
/** What an empty list says. */
const NO_MODEL = ['!*']

function modelsFor({ access }: Selection, { terms }: KeyRecord, onlyFor: ModelsOf): JsonObject[] {
  // A rule that monitors lets every model pass.
  const refusing = access.filter(({ rule }) => rule.action === 'block')
  const lists = [
    ...(terms.models === null ? [] : [{ globs: terms.models, rule: null }]),
    ...refusing.map(({ globs, rule }) => ({ globs, rule })),
  ]
  if (lists.length === 0) return ANY_MODEL
  return lists.flatMap(({ globs, rule }) =>
    (globs.length === 0 ? NO_MODEL : globs).map((pattern) => ({
      pattern,
      rule: rule?.name ?? null,
      only_for: onlyFor(rule),
    })),
  )
}

function describeLimit(
  use: ReturnType<typeof limitsOfKey>[number],
  onlyFor: ModelsOf,
  nowMs: Milliseconds,
): JsonObject {
  const { rule, unit } = use.limit
  const { resetsAt, ...counted } = describeLeft(use, nowMs)
  return {
    rule: rule?.name ?? null,
    action: rule?.action ?? 'block',
    unit,
    ...counted,
    subject: use.subject,
    only_for: onlyFor(rule),
    reset_at: resetsAt,
  }
}

function captureFor(
  { capture: ofRules, captureRules }: Selection,
  configured: Deciding['capture'],
  { terms }: KeyRecord,
  onlyFor: ModelsOf,
): JsonObject {
  const own = combineCapture(configured, terms.capture)
  const value = combineCapture(own, ofRules)
  const said = captureRules.filter(({ capture }) => capture === value && own !== value)
  const rule = (said.find((one) => onlyFor(one.rule) === null) ?? said[0])?.rule ?? null
  return { value, rule: rule?.name ?? null, only_for: onlyFor(rule) }
}
