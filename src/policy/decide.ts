// Decides on a request and makes the Permit, without which nothing is forwarded.
// Knows neither texts nor counters, only what was found in them.

import type { Direction, PiiKind } from '../core/finding.ts'
import type { TextPlace } from '../core/text-part.ts'
import { accessOf, allowsEvery } from './access-list.ts'
import type { AccessRule, PromptCheck, Selection } from './compile.ts'
import type { PiiDecision } from './pii-decisions.ts'
import type { RuleHit, RuleParts, RuleReference } from './rule.ts'
import type { PromptFacts } from './rule-type.ts'
import { NO_TOOL_RULES, type RefusedTool, type ToolJudgement } from './tool-rules.ts'

/** What the steps before found out about a request. */
export interface PolicyEvidence {
  readonly selection: Selection
  /** Null for a call without a prompt, or whose prompt is not scanned. */
  readonly facts: FactsOfParts | null
  readonly findings: readonly PlacedKind[]
  readonly keywordHits: readonly RuleReference[]
  readonly limits: readonly LimitEvidence[]
  /** What the rules say of the tools of the request. */
  readonly tools: Pick<ToolJudgement, 'hits' | 'denied'>
  /** Every model that the call may end up at; null when none is known. */
  readonly models: readonly string[] | null
  /** The list of the key; null for none. */
  readonly keyModels: readonly string[] | null
}

/** Returns the facts of some parts of a prompt; of all without parts. */
export type FactsOfParts = (parts: RuleParts) => PromptFacts

/** A kind of personal data that was found, and where. */
export interface PlacedKind {
  readonly kind: PiiKind
  readonly place: TextPlace
  /** On the value; absent where the value is not known. */
  readonly decision?: PiiDecision
}

/** The evidence of a call whose content is not scanned, or that has none. */
export const NOTHING_SCANNED = {
  facts: null,
  findings: [],
  keywordHits: [],
  tools: NO_TOOL_RULES,
} satisfies Partial<PolicyEvidence>

/** Whether a call exceeds a limit. */
export interface LimitEvidence {
  /** Null for the key's own limit of parallel calls. */
  readonly rule: RuleReference | null
  readonly exceeded: boolean
}

/** One request that may be sent. */
export interface PermittedRequest {
  /** Name of the upstream that receives it. */
  readonly upstream: string
  /** The model by the name that the upstream knows. */
  readonly model: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path below the upstream's base URL, for example `/chat/completions`, with its own query. */
  readonly target: string
  /** The serialised body, sent byte for byte; null for a request without one. */
  readonly body: Buffer | null
  /** Headers of the API that a client may leave out, by their lower-case names. */
  readonly defaults: Readonly<Record<string, string>>
}

/**
 * Everything that a permit lets through, in order. The next request to the same upstream is for
 * when it refuses the one before; one to another upstream is for when it fails. Never empty.
 */
export type PermittedRequests = readonly [PermittedRequest, ...PermittedRequest[]]

/**
 * Proof that the policy allows a call, together with the only bytes it allows. Private state makes
 * the type nominal: no other file can construct one.
 */
class Permit {
  #requests: PermittedRequests | null

  constructor(requests: PermittedRequests) {
    this.#requests = requests
  }

  /** @throws as `usePermit` */
  static use(permit: Permit): PermittedRequests {
    const requests = permit.#requests
    if (requests === null) throw new Error('A permit forwards one call; this one was used before.')
    permit.#requests = null
    return requests
  }
}

export type { Permit }

/**
 * Takes the requests out of a permit, once.
 * @throws Error for a permit that was used before; TypeError for an object that is not a permit
 */
export const usePermit = (permit: Permit): PermittedRequests => Permit.use(permit)

interface DenialOf<Reason extends string, Named> {
  readonly outcome: 'denial'
  readonly reason: Reason
  /** The rule that the client's error names; null when the terms of the key deny the call. */
  readonly rule: Named
  /** Every rule that fired, the denying one included. */
  readonly hits: readonly RuleHit[]
}

/** A call for a model that its key or a rule does not allow. */
export interface ModelDenial extends DenialOf<'model_not_allowed', RuleReference | null> {
  /** Null when the call's model is not known. */
  readonly model: string | null
  /** The list that does not allow it. */
  readonly globs: readonly string[]
}

/** A call that defines or demands a tool that a rule refuses. */
export interface ToolDenial extends DenialOf<'tool_not_allowed', RuleReference>, Pick<RefusedTool, 'tool'> {}

export type Denial =
  | DenialOf<'blocked', RuleReference>
  | ToolDenial
  | DenialOf<'rate_limited', RuleReference | null>
  | ModelDenial

/** What the rules say of a request. Lets nothing through. */
export type Judgement = { readonly outcome: 'permit'; readonly hits: readonly RuleHit[] } | Denial

export type Decision =
  | { readonly outcome: 'permit'; readonly permit: Permit; readonly hits: readonly RuleHit[] }
  | Denial

/**
 * Decides on a request that is about to be forwarded.
 * @param requests returns all that may be sent; called only when nothing denies the call
 */
export function decide(evidence: PolicyEvidence, requests: () => PermittedRequests): Decision {
  const judgement = judge(evidence)
  return judgement.outcome === 'denial' ? judgement : { ...judgement, permit: new Permit(requests()) }
}

/**
 * Judges a request without letting it through, for dry runs, shadow rules and rule tests.
 * The order is models, tools, rules on content, limits: waiting helps against limits only. Among
 * rules on content it is personal data, keywords, facts of the prompt.
 */
export function judge(evidence: PolicyEvidence): Judgement {
  const { selection, findings, keywordHits, facts, limits } = evidence
  const unlisted = selection.access.filter((one) => !allowsAll(one, evidence.models))
  const content = [
    ...piiRules(selection, findings),
    ...keywordHits,
    ...(facts === null ? [] : firing(selection.checks, facts)),
  ]
  // A score may be missing only where every rule that asks for it monitors.
  if (facts?.(null).injectionScore === null && selection.injection.some(({ rule }) => isBlocking(rule))) {
    throw new Error('A blocking injection rule applies, but the prompt was not scored.')
  }
  const exceeded = limits.flatMap(({ rule, exceeded }) => (exceeded && rule !== null ? [rule] : []))
  const access = [...unlisted.map(({ rule }) => rule), ...evidence.tools.hits]
  const hits = toHits([...access, ...content, ...exceeded], 'request')
  const denied = denyModel(evidence, unlisted.find(({ rule }) => isBlocking(rule)) ?? null, hits)
  if (denied !== null) return denied
  const refused = evidence.tools.denied
  if (refused !== null) return { outcome: 'denial', reason: 'tool_not_allowed', ...refused, hits }
  const blocking = content.find(isBlocking)
  if (blocking !== undefined) return { outcome: 'denial', reason: 'blocked', rule: blocking, hits }
  const limiting = exceeded.find(isBlocking)
  if (limiting !== undefined) return { outcome: 'denial', reason: 'rate_limited', rule: limiting, hits }
  const isOwnLimit = limits.some((limit) => limit.exceeded && limit.rule === null)
  return isOwnLimit
    ? { outcome: 'denial', reason: 'rate_limited', rule: null, hits }
    : { outcome: 'permit', hits }
}

/** The denial of a call for a model that the key does not allow, or else a rule; null for none. */
function denyModel(
  { models, keyModels }: Pick<PolicyEvidence, 'models' | 'keyModels'>,
  unlisted: AccessRule | null,
  hits: readonly RuleHit[],
): ModelDenial | null {
  const denial = { outcome: 'denial', reason: 'model_not_allowed', hits } as const
  const own = { globs: keyModels ?? ANY_MODEL, allows: accessOf(keyModels) }
  if (!allowsAll(own, models))
    return { ...denial, rule: null, model: firstRefused(own, models), globs: own.globs }
  if (unlisted === null) return null
  const { rule, globs } = unlisted
  return { ...denial, rule, model: firstRefused(unlisted, models), globs }
}

const ANY_MODEL = ['*']

type AccessList = Pick<AccessRule, 'globs' | 'allows'>

/** Whether a list allows every model of a call. A model that is not known may be any. */
const allowsAll = ({ globs, allows }: AccessList, models: PolicyEvidence['models']): boolean =>
  models === null ? allowsEvery(globs) : models.every(allows)

const firstRefused = ({ allows }: AccessList, models: PolicyEvidence['models']): string | null =>
  models?.find((model) => !allows(model)) ?? null

/**
 * The monitoring injection rules that fire at a score which was made after the decision.
 * @param facts with the scores
 */
export function monitoredInjection({ checks, injection }: Selection, facts: FactsOfParts): RuleHit[] {
  const scored = checks.filter((check) => injection.some(({ rule }) => rule === check.rule))
  return toHits(firing(scored, facts), 'request')
}

/** Decides on an answer. `blocked` is the rule that denies it, null when none does. */
export function decideResponse(
  selection: Selection,
  evidence: { readonly findings: readonly Omit<PlacedKind, 'place'>[] } & Pick<PolicyEvidence, 'keywordHits'>,
): { readonly blocked: RuleReference | null; readonly hits: readonly RuleHit[] } {
  const findings = evidence.findings.map((one): PlacedKind => ({ ...one, place: 'answer' }))
  const content = [...piiRules(selection, findings), ...evidence.keywordHits]
  return { blocked: content.find(isBlocking) ?? null, hits: toHits(content, 'response') }
}

/** Rules that apply to the findings. A kind that is allowed fires no rule. */
function piiRules(selection: Selection, findings: readonly PlacedKind[]): RuleReference[] {
  return findings.flatMap((finding) => {
    const { action, rule } = decisionOn(finding, selection)
    return rule === null || action === 'allow' ? [] : [rule]
  })
}

/** The decision on a finding: on its value, or on its kind where the value is not known. */
export const decisionOn = ({ kind, place, decision }: PlacedKind, selection: Selection): PiiDecision =>
  decision ?? selection.pii(kind, place)

const firing = (checks: readonly PromptCheck[], facts: FactsOfParts): RuleReference[] =>
  checks.filter((check) => check.fires(facts(check.parts))).map(({ rule }) => rule)

const isBlocking = (rule: RuleReference): boolean => rule.action === 'block'

/** Each rule once. Most calls have none, and a Set costs more than the test. */
const toHits = (rules: readonly RuleReference[], direction: Direction): RuleHit[] =>
  rules.length === 0 ? [] : [...new Set(rules)].map((rule) => ({ rule, direction }))
