// What the policy is asked about a prompt that was inspected, and in which order: of a call, in a dry run, on trial and in
// a test of rules alike.

import type { Config } from '../../core/config.ts'
import type { PiiKind } from '../../core/finding.ts'
import type { InjectionModel } from '../../detect/injection/score.ts'
import type { Selection } from '../../policy/compile.ts'
import { type Decision, decide, type Evidence } from '../../policy/decide.ts'
import type { InjectionJudgement } from '../call.ts'
import type { InjectionEvidence } from './injection.ts'
import { countKinds, type Inspection } from './inspect.ts'

/** What decides beside the rules. */
export interface DecisionParts {
  readonly injection: InjectionModel
  readonly binaryParts: Config['pii']['binaryParts']
}

/** What was learned of a prompt, as far as it decides. */
interface Learned extends Pick<Inspection, 'keywordHits' | 'injection' | 'binaryParts'> {
  readonly findings: readonly { readonly kind: PiiKind }[]
}

/** The configuration refuses payloads that cannot be scanned before any rule is asked, so none fires. */
const PAYLOAD_REFUSED = { outcome: 'denial', reason: 'payload', rule: null, hits: [] } as const

export type PromptDecision = Decision | typeof PAYLOAD_REFUSED

/** @param limits asked last; by default none are, because they depend on traffic and not on the prompt */
export function decidePrompt(
  { findings, keywordHits, injection, binaryParts }: Learned,
  selection: Selection,
  parts: DecisionParts,
  limits: () => Evidence['limits'] = () => [],
): PromptDecision {
  if (binaryParts > 0 && parts.binaryParts === 'block') return PAYLOAD_REFUSED
  return decide({
    selection,
    findings: countKinds(findings),
    keywordHits,
    injectionScore: injection?.score ?? null,
    modelThreshold: parts.injection.threshold,
    limits: limits(),
  })
}

/** A score as the log tells of it. */
export const judge = (
  evidence: InjectionEvidence,
  { injection: rules }: Selection,
  { threshold, version: model }: InjectionModel,
): InjectionJudgement => ({ ...evidence, model, threshold, rules })
