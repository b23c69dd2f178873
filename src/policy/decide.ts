// The decision on a call: the only place that makes a Permit, without which nothing can be forwarded. Pure; knows
// neither texts nor counters, only what was found in them.

import type { Direction, PiiKind } from '../core/finding.ts'
import type { Selection } from './compile.ts'
import type { RuleHit, RuleReference } from './rule.ts'

/** What was learned of a request. */
export interface Evidence {
  readonly selection: Selection
  readonly findings: readonly { readonly kind: PiiKind; readonly count: number }[]
  readonly keywordHits: readonly RuleReference[]
  /** From 0 to 1; null when no rule asked for it, or all that did only watch (`Selection.watchesInjection`). */
  readonly injectionScore: number | null
  /** For injection rules without a threshold of their own. */
  readonly modelThreshold: number
  readonly limits: readonly { readonly rule: RuleReference; readonly exceeded: boolean }[]
}

/** Proof that the policy was asked and did not refuse. Only this file can make one. */
class Permit {
  /** Sets the type apart from any look-alike. */
  protected readonly granted = true
}

export type { Permit }

export type Decision =
  | { readonly outcome: 'permit'; readonly permit: Permit; readonly hits: readonly RuleHit[] }
  | {
      readonly outcome: 'denial'
      readonly reason: 'blocked' | 'rate_limited'
      /** The rule the client is told of. */
      readonly rule: RuleReference
      /** Every rule that fired, the denying one included. */
      readonly hits: readonly RuleHit[]
    }

/**
 * Decides on a request. What the content is refused for goes before a token limit: waiting would not help.
 * Among several the order is personal data, keywords, injection.
 */
export function decide(evidence: Evidence): Decision {
  const { selection, findings, keywordHits, injectionScore, modelThreshold, limits } = evidence
  const content = [...piiRules(selection, findings, 'request'), ...keywordHits]
  if (injectionScore !== null) content.push(...injectionRules(selection, injectionScore, modelThreshold))
  else if (selection.injection.some(({ rule }) => isBlocking(rule))) {
    throw new Error('a rule that may refuse the call was not told its score')
  }
  const exceeded = limits.filter((limit) => limit.exceeded).map(({ rule }) => rule)
  const hits = toHits([...content, ...exceeded], 'request')
  const blocking = content.find(isBlocking)
  if (blocking !== undefined) return { outcome: 'denial', reason: 'blocked', rule: blocking, hits }
  const limiting = exceeded.find(isBlocking)
  if (limiting !== undefined) return { outcome: 'denial', reason: 'rate_limited', rule: limiting, hits }
  return { outcome: 'permit', permit: new Permit(), hits }
}

/** What rules that only watch say of a score that `decide` was not told. */
export const watched = (selection: Selection, injectionScore: number, modelThreshold: number): RuleHit[] =>
  toHits(injectionRules(selection, injectionScore, modelThreshold), 'request')

/** Decides on an answer; `blocked` is the rule that forbids it. */
export function decideResponse(
  selection: Selection,
  evidence: Pick<Evidence, 'findings' | 'keywordHits'>,
): { readonly blocked: RuleReference | null; readonly hits: readonly RuleHit[] } {
  const content = [...piiRules(selection, evidence.findings, 'response'), ...evidence.keywordHits]
  return { blocked: content.find(isBlocking) ?? null, hits: toHits(content, 'response') }
}

/** Rules that speak of what was found; an allowed kind is nothing that fired. */
function piiRules(
  selection: Selection,
  findings: Evidence['findings'],
  direction: Direction,
): RuleReference[] {
  return findings.flatMap(({ kind, count }) => {
    const { action, rule } = selection.pii(kind, direction)
    return rule === null || action === 'allow' || count === 0 ? [] : [rule]
  })
}

/** Rules whose threshold is reached. */
const injectionRules = (
  { injection }: Selection,
  score: number,
  modelThreshold: number,
): readonly RuleReference[] =>
  injection.filter(({ threshold }) => score >= (threshold ?? modelThreshold)).map(({ rule }) => rule)

const isBlocking = (rule: RuleReference): boolean => rule.action === 'block'

/** Nearly always there are none, and a set is dear. */
const toHits = (rules: readonly RuleReference[], direction: Direction): RuleHit[] =>
  rules.length === 0 ? [] : [...new Set(rules)].map((rule) => ({ rule, direction }))
