// Compiles parsed rules into the frozen rule set that requests are judged by. Knows neither where
// rules come from nor what follows from a decision.

import { type Direction, labelOfKind, PII_KINDS, type PiiKind } from '../core/finding.ts'
import { type CallKey, includesLabels, type KeyLabels } from '../core/key-terms.ts'
import { TEXT_PARTS, type TextPlace } from '../core/text-part.ts'
import { expressionsOf } from '../keyword/pattern-index.ts'
import { type AccessTest, compileAccessList } from './access-list.ts'
import { type CaptureMode, combineCapture } from './capture-mode.ts'
import { compileExceptions, type ExceptionTest } from './exceptions.ts'
import { compileGlob } from './glob.ts'
import { KeywordRuleIndex, type KeywordRules } from './keyword-rules.ts'
import { type LimitScope, readScope } from './limit-scope.ts'
import { openKindsOf } from './open-kinds.ts'
import type { ParsedRule } from './parse-rule.ts'
import { decideKinds, type PiiDecision } from './pii-decisions.ts'
import { concernsPlace, isRestoring, partsOf, type Rule, type RuleParts, type RuleReference } from './rule.ts'
import type { PromptFacts } from './rule-type.ts'
import { type RulePattern, ruleTypeOf } from './rule-types.ts'
import { ToolRuleIndex, type ToolRules } from './tool-rules.ts'
import type { UsageLimit } from './types/rate-limit.ts'
import { conditionOf, ValueRuleIndex, type ValueRules } from './value-rules.ts'

/** All rules in force at one moment. Frozen: a request uses the set it started with. */
export interface RuleSet {
  /** Names the content: equal revisions mean equal rules. */
  readonly revision: string
  /** Every rule, disabled ones included, in the order of declaration. */
  readonly rules: readonly Rule[]
  /** The enabled limits of money. */
  readonly budgets: readonly LimitRule[]
  /** The enabled limits, in order; with a key, those that count its calls of any model. */
  limits(key: MatchedKey | null): readonly LimitRule[]
  /**
   * Selects the enabled rules for a call by this key that may be sent to any of these models.
   * @param models null for models that are not known: a rule for any model applies
   * @param api name of the API; without it rules for any API apply
   */
  select(models: readonly string[] | null, key: MatchedKey, api?: string): Selection
}

/** What rules match of a key. */
export interface MatchedKey {
  readonly name: string
  readonly labels: KeyLabels
}

/** The part of a key that rules match. */
export const matchedKey = ({ name, terms }: Pick<CallKey, 'name' | 'terms'>): MatchedKey => ({
  name,
  labels: terms.labels,
})

/** A rule that fires on facts of a prompt. */
export interface PromptCheck {
  readonly rule: RuleReference
  /** The parts of the prompt whose facts it is asked with. */
  readonly parts: RuleParts
  fires(facts: PromptFacts): boolean
}

interface InjectionRule {
  readonly rule: RuleReference
  /** Null means the model's own threshold. */
  readonly threshold: number | null
  readonly parts: RuleParts
}

export interface LimitRule extends UsageLimit {
  readonly rule: RuleReference
  readonly scope: LimitScope
}

/** A rule that says whether the text of a call is kept. */
interface CaptureRule {
  readonly rule: RuleReference
  readonly capture: CaptureMode
}

/** A rule that says which models are allowed. */
export interface AccessRule {
  readonly rule: RuleReference
  /** Its list, for messages. */
  readonly globs: readonly string[]
  /** Reports whether it allows a model, or does not concern it. */
  readonly allows: AccessTest
}

export interface Selection {
  readonly revision: string
  /**
   * The decision on a kind. The most specific rule wins (a kind before `*`), then the strictest
   * action (block, redact, restore, pseudonym, pseudonym with restore, monitor, allow), then the
   * first rule. Without a rule the action is redact. With several models the strictest decision
   * counts. In an answer, `restore` applies to data that is new in it and means redact; whether
   * values are put back is decided by the prompt's rules alone.
   */
  pii(kind: PiiKind, place: TextPlace): PiiDecision
  /**
   * The decision on a value: of the rules as specific as the winning one, the first without an
   * exception for it; `allow` when all have one. @param value without escapes
   */
  piiValue(kind: PiiKind, place: TextPlace, value: string): PiiDecision
  /** Whether a rule has exceptions, so that decisions depend on values. */
  readonly hasExceptions: boolean
  /** Rules that define kinds; null when none concerns the direction. */
  openKinds(direction: Direction): ValueRules | null
  /** Rules that replace keywords; null when none concerns the direction. */
  replacedKeywords(direction: Direction): ValueRules | null
  /** Rules that block or monitor keywords; null when none concerns the direction. */
  keywords(direction: Direction): KeywordRules | null
  /** Whether rules say what texts are searched for, so that small numbers may matter. */
  readsNumbers(direction: Direction): boolean
  /** Rules that fire on facts of a prompt, in order. */
  readonly checks: readonly PromptCheck[]
  /** Rules that ask for the prompt's injection score; each is one of the checks too. */
  readonly injection: readonly InjectionRule[]
  /** There are injection rules and nothing that refuses reads the score. */
  readonly watchesInjection: boolean
  /** Whether a rule puts values back in the answer. */
  readonly restores: boolean
  /**
   * Labels of the placeholders of open kinds: those that rules define, in force for the call or
   * not, and those of the configuration.
   */
  readonly openLabels: ReadonlySet<string>
  /** Whether a rule asks for shaped placeholders. */
  readonly asksForShapes: boolean
  /** Whether a rule asks for pseudonyms. */
  readonly asksForPseudonyms: boolean
  readonly limits: readonly LimitRule[]
  readonly access: readonly AccessRule[]
  /** Null when no rule concerns tools. */
  readonly tools: ToolRules | null
  /** What the rules say of capturing the call; null when none says anything. */
  readonly capture: CaptureMode | null
  /** The rules that say it. */
  readonly captureRules: readonly CaptureRule[]
}

/** Selections kept at once, one for each combination of rules. */
const MAXIMUM_SELECTIONS = 256

/** An enabled rule with its globs compiled. */
interface ScopedRule {
  readonly rule: Rule
  readonly pattern: RulePattern
  readonly reference: RuleReference
  /** Kinds of personal data that it decides on; `*` for all, null for none. */
  readonly kinds: '*' | readonly PiiKind[] | null
  readonly excepts: ExceptionTest | null
  /** @param model null for one that is not known, which may be any */
  concernsModel(model: string | null): boolean
  concernsKey(key: MatchedKey): boolean
  concernsApi(api: string | undefined): boolean
}

const limitsOf = (rules: readonly ScopedRule[]): LimitRule[] =>
  rules.flatMap(({ rule, reference, pattern }) =>
    pattern.type === 'rate_limit'
      ? [Object.freeze({ rule: reference, scope: readScope(rule.per), ...pattern.limit })]
      : [],
  )

/** The limits of rules, in order, those of disabled ones included. */
export const declaredLimits = (rules: readonly ParsedRule[]): readonly LimitRule[] =>
  limitsOf(rules.map(scope))

const limitsIn = (scoped: readonly ScopedRule[]): Pick<RuleSet, 'limits'> => ({
  limits: (key) => limitsOf(key === null ? scoped : scoped.filter((one) => one.concernsKey(key))),
})

/** Compiles the limits among rules, and nothing else. */
export const compileLimits = (rules: readonly ParsedRule[]): Pick<RuleSet, 'limits'> =>
  limitsIn(rules.filter(({ rule, pattern }) => rule.enabled && pattern.type === 'rate_limit').map(scope))

/**
 * Compiles rules, in order. Model globs ignore case, because upstreams do.
 * @param openKinds that the configuration defines
 */
export function compileRules(
  rules: readonly ParsedRule[],
  revision: string,
  openKinds: readonly PiiKind[] = [],
): RuleSet {
  const scoped = rules.filter(({ rule }) => rule.enabled).map(scope)
  const keywords = new KeywordRuleIndex(
    scoped.flatMap(({ rule, reference, pattern }) =>
      pattern.type === 'keyword_block' && rule.action !== 'redact'
        ? [{ rule, reference, keywords: pattern.keywords }]
        : [],
    ),
  )
  const tools = new ToolRuleIndex(
    scoped.flatMap(({ reference, pattern }) =>
      pattern.type === 'tool_access' ? [{ rule: reference, globs: pattern.globs, conditions: pattern }] : [],
    ),
  )
  const open = new Set([...openKinds, ...openKindsOf(rules)])
  const labels = rules.flatMap(({ pattern }) => (pattern.type === 'keyword_block' ? [pattern.label] : []))
  const openLabels = new Set([...[...open].map(labelOfKind), ...labels])
  const compiled: CompiledRules = {
    keywords,
    tools,
    kinds: [...PII_KINDS, ...open],
    openLabels,
    definitions: new ValueRuleIndex(scoped.flatMap(definedKind), openLabels, true),
    replacements: new ValueRuleIndex(scoped.flatMap(replacedKeyword), openLabels, false),
  }
  const selections = new Map<string, Selection>()
  return Object.freeze({
    revision,
    rules: Object.freeze(rules.map(({ rule }) => rule)),
    budgets: Object.freeze(limitsOf(scoped).filter(({ unit }) => unit === 'usd')),
    ...limitsIn(scoped),
    select(models: readonly string[] | null, key: MatchedKey, api?: string): Selection {
      const ofCall = scoped.filter((one) => one.concernsKey(key) && one.concernsApi(api))
      const byModel = new Map<string, readonly ScopedRule[]>()
      for (const model of models ?? [null]) {
        const chosen = ofCall.filter((one) => one.concernsModel(model))
        const isAll = chosen.length === scoped.length
        byModel.set(isAll ? 'all' : `some:${chosen.map(({ reference }) => reference.id).join()}`, chosen)
      }
      const name = [...byModel.keys()].sort().join('\n')
      const known = selections.get(name)
      if (known !== undefined) return known
      if (selections.size >= MAXIMUM_SELECTIONS) selections.clear()
      const selection = selectionOf(scoped, [...byModel.values()], compiled, revision)
      selections.set(name, selection)
      return selection
    },
  })
}

function decidedKinds(pattern: RulePattern): ScopedRule['kinds'] {
  if (pattern.type === 'pii') return pattern.kinds
  return pattern.type === 'pii_pattern' ? [pattern.kind] : null
}

/** The kind that a rule defines. */
const definedKind = ({ rule, reference, pattern }: ScopedRule) =>
  pattern.type !== 'pii_pattern'
    ? []
    : [
        {
          ...{ rule, reference, kind: pattern.kind },
          pattern: { programs: pattern.programs, ...conditionOf(pattern.context, pattern.checksum) },
        },
      ]

/** The keywords that a rule replaces. */
const replacedKeyword = ({ rule, reference, pattern }: ScopedRule) =>
  pattern.type !== 'keyword_block' || rule.action !== 'redact'
    ? []
    : [
        {
          ...{ rule, reference, kind: pattern.label.toLowerCase() },
          pattern: { programs: expressionsOf(pattern.keywords) },
        },
      ]

function scope({ rule, pattern }: ParsedRule): ScopedRule {
  // A rule without an action fires on no call.
  const { id, name, type, action = 'allow', match } = rule
  const models = match?.models?.map((glob) => compileGlob(glob.toLowerCase()))
  const keys = match?.keys?.map(compileGlob)
  const labels = Object.entries(match?.labels ?? {})
  return {
    rule,
    pattern,
    reference: Object.freeze({ id, name, type, action }),
    kinds: decidedKinds(pattern),
    excepts: 'exceptions' in pattern ? compileExceptions(pattern.exceptions) : null,
    concernsModel: (model) =>
      models === undefined || model === null || models.some((matches) => matches(model.toLowerCase())),
    concernsApi: (api) => match?.apis === undefined || api === undefined || match.apis.includes(api),
    concernsKey: (key) =>
      (keys === undefined || keys.some((matches) => matches(key.name))) && includesLabels(key.labels, labels),
  }
}

/** What is compiled once for every selection. */
interface CompiledRules {
  readonly keywords: KeywordRuleIndex
  readonly tools: ToolRuleIndex
  /** Every kind of personal data that may be found. */
  readonly kinds: readonly PiiKind[]
  readonly openLabels: ReadonlySet<string>
  readonly definitions: ValueRuleIndex
  readonly replacements: ValueRuleIndex
}

/** Whether a rule decides on a kind in a place. A kind is searched for where one does. */
const decidesOn = ({ rule, kinds }: ScopedRule, kind: PiiKind, place: TextPlace): boolean =>
  kinds !== null && (kinds === '*' || kinds.includes(kind)) && concernsPlace(rule, place)

/** @param byModel the rules that concern each model; a rule of any model applies to the call */
function selectionOf(
  scoped: readonly ScopedRule[],
  byModel: readonly (readonly ScopedRule[])[],
  { keywords, tools: toolIndex, kinds, openLabels, definitions, replacements }: CompiledRules,
  revision: string,
): Selection {
  const concerned = new Set(byModel.flat())
  const chosen = scoped.filter((candidate) => concerned.has(candidate))
  const tools = toolIndex.select(new Set(chosen.map(({ reference }) => reference)))
  const chosenRules = new Set(chosen.map(({ rule }) => rule))
  const pii = decideKinds(byModel, kinds)
  const byDirection = <Rules>(select: (places: readonly TextPlace[]) => Rules) => ({
    request: select(TEXT_PARTS),
    response: select(['answer']),
  })
  const keywordRules = byDirection((places) => keywords.select(chosenRules, places))
  const definingRules = byDirection((places) =>
    definitions.select(({ kind }, place) => chosen.some((one) => decidesOn(one, kind, place)), places),
  )
  const replacingRules = byDirection((places) =>
    replacements.select(({ rule }, place) => chosenRules.has(rule) && concernsPlace(rule, place), places),
  )
  const checks = chosen.flatMap(({ rule, reference, pattern }) => {
    const type = ruleTypeOf(pattern.type)
    if (type.fires === undefined) return []
    const fires: PromptCheck['fires'] = (facts) => type.fires!(pattern, facts)
    return [Object.freeze({ rule: reference, parts: partsOf(rule), fires })]
  })
  const injection = chosen.flatMap(({ rule, reference, pattern }) =>
    pattern.type === 'prompt_injection'
      ? [Object.freeze({ rule: reference, threshold: pattern.threshold, parts: partsOf(rule) })]
      : [],
  )
  const limits = limitsOf(chosen)
  const access = chosen.flatMap(({ reference, pattern, concernsModel }) => {
    if (pattern.type !== 'model_access') return []
    const isListed = compileAccessList(pattern.globs)
    const allows: AccessTest = (model) => !concernsModel(model) || isListed(model)
    return [Object.freeze({ rule: reference, globs: pattern.globs, allows })]
  })
  const captureRules = chosen.flatMap(({ reference, pattern }) =>
    pattern.type === 'capture' ? [Object.freeze({ rule: reference, capture: pattern.capture })] : [],
  )
  const modes = captureRules.map(({ capture }) => capture)
  return Object.freeze({
    revision,
    pii: pii.ofKind,
    piiValue: pii.ofValue,
    hasExceptions: chosen.some(({ excepts }) => excepts !== null),
    openKinds: (direction: Direction) => definingRules[direction],
    replacedKeywords: (direction: Direction) => replacingRules[direction],
    keywords: (direction: Direction) => keywordRules[direction],
    readsNumbers: (direction: Direction) =>
      [definingRules, replacingRules, keywordRules].some((rules) => rules[direction] !== null),
    checks,
    injection,
    watchesInjection:
      injection.length > 0 &&
      injection.every(({ rule }) => rule.action === 'monitor') &&
      tools?.asksForScore !== true,
    restores: chosen.some(({ rule }) => isRestoring(rule)),
    openLabels,
    asksForShapes: chosen.some(({ rule }) => rule.placeholders === 'shaped'),
    asksForPseudonyms: chosen.some(({ rule }) => rule.action === 'pseudonym'),
    limits,
    access,
    tools,
    capture: modes.length === 0 ? null : combineCapture(...modes),
    captureRules,
  })
}
