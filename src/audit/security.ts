// Derives the security events of a sealed request: blocked, refused, personal data, rules fired.
// Events are not stored, so the event list cannot differ from the chain.

import { refusesCall } from '../core/errors.ts'
import type { Direction } from '../core/finding.ts'
import { RULE_ACTIONS } from '../core/rule-action.ts'
import type { RequestDraft, SealedRequest } from './entry.ts'
import type { SealedFindings, SealedInjection, SealedRule, StoppedBy } from './entry-fields.ts'

export const SECURITY_EVENT_TYPES = [
  'blocked_request',
  'refused_request',
  'pii_detection',
  'rule_trigger',
] as const
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
/** Whether a rule can stop a call. A removed tool stops it where an answer calls it. */
const isStopping = ({ action, direction }: SealedRule): boolean =>
  action === 'block' || (action === 'remove' && direction === 'response')

/** Types of rules that refuse a call; all others block it for its content. */
const REFUSING_TYPES: readonly string[] = ['rate_limit', 'model_access', 'tool_access']

/**
 * Returns what stopped a call, null when nothing did: its content (`blocked`), or a limit, budget,
 * model or tool (`refused`). Reports count the two apart; `blocked` of an entry covers both, except
 * for limits.
 */
export function stoppedBy({
  outcome,
  blocked,
  error_code: code,
  rules,
}: Pick<RequestDraft, 'outcome' | 'blocked' | 'error_code' | 'rules'>): StoppedBy | null {
  if (outcome === 'rate_limited' || (blocked && refusesCall(code))) return 'refused'
  if (!blocked) return null
  const stopping = rules.filter((rule) => rule.direction === 'response' && isStopping(rule))
  const isRefused = stopping.length > 0 && stopping.every(({ type }) => REFUSING_TYPES.includes(type))
  return code === 'response_blocked_by_policy' && isRefused ? 'refused' : 'blocked'
}

/**
 * Returns the events in a fixed order: one `blocked_request` or `refused_request` for a stopped
 * call, one `pii_detection` for each direction with findings, one `rule_trigger` for each rule and
 * direction that fired. The refusal of a call whose entry is not `blocked` comes last, because
 * indexes of older releases have the other events at their places.
 */
export function securityEvents(sealed: SealedRequest): SecurityEvent[] {
  const stopped = stoppedBy(sealed)
  if (stopped === null && sealed.pii.length === 0 && sealed.rules.length === 0) return []
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

  const addStopped = () => {
    const stopping = sealed.rules.filter(isStopping)
    const isRefused = stopped === 'refused'
    const rule = stopping.find(({ type }) => REFUSING_TYPES.includes(type) === isRefused) ?? stopping[0]
    add(`${stopped!}_request`, rule?.direction ?? 'request', rule, 'block', findingsOf(rule))
  }
  if (sealed.blocked) addStopped()
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
  if (stopped !== null && !sealed.blocked) addStopped()
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
