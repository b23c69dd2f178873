// Collects the evidence of an inspected prompt and asks the policy. A call decides; dry runs,
// shadow rules and rule tests only judge.

import type { Config } from '../../core/config.ts'
import type { PlaceholderStyle } from '../../core/placeholder-style.ts'
import type { InjectionModel } from '../../detect/injection/score.ts'
import type { Selection } from '../../policy/compile.ts'
import {
  type Decision,
  type Denial,
  decide,
  type Judgement,
  judge,
  type PermittedRequests,
  type PolicyEvidence,
} from '../../policy/decide.ts'
import type { InjectionEvidence, InjectionJudgement } from '../call/call-record.ts'
import type { PseudonymTerms } from '../scan/pseudonyms.ts'
import type { Inspection } from './inspect.ts'

/** Settings that inspect a prompt and decide on it, besides the rules. */
export interface DecisionParts {
  readonly injection: InjectionModel
  readonly binaryParts: Config['pii']['binaryParts']
  /** How values are replaced where no rule says it. */
  readonly placeholderStyle: PlaceholderStyle
  readonly pseudonyms: PseudonymTerms
}

/** The part of an inspection that decides. */
interface PromptEvidence
  extends Pick<Inspection, 'keywordHits' | 'facts' | 'binaryParts'>,
    Pick<PolicyEvidence, 'findings' | 'tools' | 'models' | 'keyModels'> {}

/** `pii.binaryParts: block` denies payloads that cannot be scanned before any rule is asked. */
const PAYLOAD_DENIED = { outcome: 'denial', reason: 'payload', rule: null, hits: [] } as const

type PayloadDenial = typeof PAYLOAD_DENIED

export type PromptDenial = Denial | PayloadDenial

/** Judges a prompt. Limits are left out: they depend on traffic, not on the prompt. */
export function judgePrompt(
  prompt: PromptEvidence,
  selection: Selection,
  parts: DecisionParts,
): Judgement | PayloadDenial {
  return isPayloadDenied(prompt, parts) ? PAYLOAD_DENIED : judge(evidenceOf(prompt, selection, []))
}

/**
 * Decides on the prompt of a call.
 * @param limits reserves; called only when nothing else is known to deny the call
 * @param requests as in `decide`
 */
export function decidePrompt(
  prompt: PromptEvidence,
  selection: Selection,
  parts: DecisionParts,
  limits: () => PolicyEvidence['limits'],
  requests: () => PermittedRequests,
): Decision | PayloadDenial {
  if (isPayloadDenied(prompt, parts)) return PAYLOAD_DENIED
  return decide(evidenceOf(prompt, selection, limits()), requests)
}

const isPayloadDenied = ({ binaryParts }: PromptEvidence, parts: DecisionParts): boolean =>
  binaryParts > 0 && parts.binaryParts === 'block'

const evidenceOf = (
  { findings, keywordHits, facts, tools, models, keyModels }: PromptEvidence,
  selection: Selection,
  limits: PolicyEvidence['limits'],
): PolicyEvidence => ({
  selection,
  facts,
  findings,
  keywordHits,
  limits,
  tools,
  models,
  keyModels,
})

/** Combines a score with the model and the rules it is compared with, as the entry stores it. */
export const injectionJudgement = (
  evidence: InjectionEvidence,
  { injection: rules }: Selection,
  { threshold, version: model }: InjectionModel,
): InjectionJudgement => ({ ...evidence, model, threshold, rules })
