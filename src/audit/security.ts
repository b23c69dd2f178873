// Derives the security events of a sealed request: blocked, personal data findingsIn, rules fired.
// Events are not stored, so the event list cannot differ from the chain.

import type { Direction } from '../core/finding.ts'
import { RULE_ACTIONS } from '../core/rule-action.ts'
import type { SealedRequest } from './entry.ts'
import type { SealedFindings, SealedInjection, SealedRule } from './entry-fields.ts'

export const SECURITY_EVENT_TYPES = ['blocked_request', 'pii_detection', 'rule_trigger'] as const
export type SecurityEventType = (typeof SECURITY_EVENT_TYPES)[number]

/** Scores are sealed in thousandths and shown from 0 to 1. */
type EventInjection = {
  readonly score: number
  /** The score from which the rule fires. */
  readonly threshold: number
  readonly path: string
  /** UTF-16 offsets in that text of the captured request, end exclusive. */
  readonly span: { readonly start: number; readonly end: number } | null
  readonly reasons: string[]
  /** Version of the model. */
  readonly model: string
}

/** An event of `GET /api/v1/usage/security`. */
export type SecurityEvent = {
  /** `<log_id>:<n>`; n counts the events of one entry from 0. */
  readonly id: string
  readonly created_at: string
  readonly type: SecurityEventType
  readonly direction: Direction
  readonly rule_id: string | null
  readonly rule_name: string | null
  readonly rule_type: string | null
  readonly action: string
  readonly pii_types: string[]
  /** Evidence of a `prompt_injection` rule; null on every other event. */
  readonly injection: EventInjection | null
  /** Tools that the call was refused or lost, for a `tool_access` rule; empty on other events. */
  readonly tools: string[]
  readonly key_id: string
  readonly key_name: string
  readonly model: string
  /** The usage entry's id. */
  readonly log_id: string
}

const DIRECTIONS: readonly Direction[] = ['request', 'response']
/** Whether a rule can refuse a call. A removed tool is refused where an answer calls it. */
const isRefusing = ({ action, direction }: SealedRule): boolean =>
  action === 'block' || (action === 'remove' && direction === 'response')

/**
 * Returns the events in a fixed order: one `blocked_request` for a blocked call, one
 * `pii_detection` for each direction with findings, one `rule_trigger` for each rule and direction
 * that fired.
 */
export function securityEvents(sealed: SealedRequest): SecurityEvent[] {
  if (!sealed.blocked && sealed.pii.length === 0 && sealed.rules.length === 0) return []
  const events: SecurityEvent[] = []
  const add = (
    type: SecurityEventType,
    direction: Direction,
    rule: SealedRule | undefined,
    action: string,
    findings: readonly SealedFindings[],
  ) =>
    events.push({
      id: `${sealed.id}:${events.length}`,
      created_at: sealed.created_at,
      type,
      direction,
      rule_id: rule?.id ?? null,
      rule_name: rule?.name ?? null,
      rule_type: rule?.type ?? null,
      action,
      pii_types: [...new Set(findings.map((finding) => finding.kind))],
      injection: injectionOf(rule, sealed.injection),
      tools: rule?.type === 'tool_access' ? refusedTools(sealed) : [],
      key_id: sealed.key_id,
      key_name: sealed.key_name,
      model: sealed.model,
      log_id: sealed.id,
    })
  const findingsIn = (direction: Direction) => sealed.pii.filter((finding) => finding.direction === direction)
  const findingsOf = (rule: SealedRule | undefined) =>
    rule?.type === 'pii'
      ? findingsIn(rule.direction).filter(({ action }) => action === undefined || action === rule.action)
      : []

  if (sealed.blocked) {
    const rule = sealed.rules.find(isRefusing)
    add('blocked_request', rule?.direction ?? 'request', rule, 'block', findingsOf(rule))
  }
  for (const direction of DIRECTIONS) {
    const findings = findingsIn(direction)
    if (findings.length === 0) continue
    const rule = sealed.rules.find(
      (candidate) => candidate.type === 'pii' && candidate.direction === direction,
    )
    const actions = new Set(findings.map((finding) => finding.action ?? rule?.action))
    add(
      'pii_detection',
      direction,
      rule,
      RULE_ACTIONS.find((action) => actions.has(action)) ?? 'redact',
      findings,
    )
  }
  for (const rule of sealed.rules) {
    add('rule_trigger', rule.direction, rule, rule.action, findingsOf(rule))
  }
  return events
}

const refusedTools = ({ tools = [] }: SealedRequest): string[] =>
  tools.flatMap(({ name, refused }) => (refused > 0 ? [name] : []))

const THOUSANDTHS = 1000

function injectionOf(rule: SealedRule | undefined, injection: SealedInjection | null): EventInjection | null {
  if (rule?.type !== 'prompt_injection' || injection === null) return null
  const { score, threshold, path, span, reasons, model } = injection
  return {
    score: score / THOUSANDTHS,
    threshold: (rule.threshold ?? threshold) / THOUSANDTHS,
    path,
    span: span === null ? null : { ...span },
    reasons: [...reasons],
    model,
  }
}
