// From declared rules to the frozen rule set that requests are judged by. Knows neither where rules come from nor
// what is done with a decision.

import type { Milliseconds } from '../core/clock.ts'
import { type Direction, PII_KINDS, type PiiKind } from '../core/finding.ts'
import { parseKeywords } from '../keyword/pattern-index.ts'
import { compileGlob } from './glob.ts'
import { KeywordRuleIndex, type KeywordRules } from './keyword-rules.ts'
import { concernsDirection, RULE_ACTIONS, type Rule, type RuleAction, type RuleReference } from './rule.ts'
import { type Parsed, parseKinds, parseLimit, parseThreshold } from './rule-pattern.ts'
import { validateRule } from './validate.ts'

/** All rules in force at one moment. Frozen; a request uses the one it started with. */
export interface RuleSet {
  /** Names the content: equal revisions mean equal rules. */
  readonly revision: string
  /** Every rule, disabled ones included, in the order of their declaration. */
  readonly rules: readonly Rule[]
  /** The enabled rules that concern a call by the key of this name that may end up at any of these models. */
  select(models: readonly string[], keyName: string): Selection
}

/** What to do about one kind of personal data; `rule` is null where no rule speaks of it. */
interface PiiDecision {
  readonly action: RuleAction
  readonly rule: RuleReference | null
}

interface InjectionRule {
  readonly rule: RuleReference
  /** Null stands for the model's own threshold. */
  readonly threshold: number | null
}

interface LimitRule {
  readonly rule: RuleReference
  readonly tokens: number
  readonly windowMs: Milliseconds
}

export interface Selection {
  readonly revision: string
  /**
   * The most specific rule wins (a kind before `*`), then block over redact over restore over monitor over allow,
   * then the first; without any rule the action is redact. Of several models the strictest decision counts. In an answer `restore` concerns data new in it, which is
   * redacted; what is put back is decided by the prompt's rules alone.
   */
  pii(kind: PiiKind, direction: Direction): PiiDecision
  /** Null when no keyword rule concerns the direction. */
  keywords(direction: Direction): KeywordRules | null
  /** Rules that ask for the prompt's injection score. */
  readonly injection: readonly InjectionRule[]
  /** There are some, and the score can refuse no call: none of them blocks. */
  readonly watchesInjection: boolean
  readonly limits: readonly LimitRule[]
}

/** Selections that are kept, one for each combination of rules that some call met. */
const MAX_SELECTIONS = 256

const UNRULED: PiiDecision = Object.freeze({ action: 'redact', rule: null })

/** An enabled rule, ready to be asked whether it concerns a call. */
interface Scoped {
  readonly rule: Rule
  readonly reference: RuleReference
  /** @param model in small letters */
  concerns(model: string, keyName: string): boolean
}

/**
 * Compiles rules, in order. Model globs ignore case, because upstreams do.
 * @throws TypeError for rules that validateRule refuses
 */
export function compileRules(rules: readonly Rule[], revision: string): RuleSet {
  const scoped = rules.filter(({ enabled }) => enabled).map(scope)
  const keywords = new KeywordRuleIndex(
    scoped
      .filter(({ rule }) => rule.type === 'keyword_block')
      .map(({ reference, rule }) => ({ rule, reference, keywords: keywordsOf(rule) })),
  )
  const selections = new Map<string, Selection>()
  return Object.freeze({
    revision,
    rules: Object.freeze([...rules]),
    select(models: readonly string[], keyName: string): Selection {
      const byModel = new Map<string, readonly Scoped[]>()
      for (const model of models) {
        const chosen = scoped.filter((candidate) => candidate.concerns(model.toLowerCase(), keyName))
        const isAll = chosen.length === scoped.length
        byModel.set(isAll ? 'all' : `some:${chosen.map(({ reference }) => reference.id).join()}`, chosen)
      }
      const key = [...byModel.keys()].sort().join('\n')
      const known = selections.get(key)
      if (known !== undefined) return known
      if (selections.size >= MAX_SELECTIONS) selections.clear()
      const selection = selectionOf(scoped, [...byModel.values()], keywords, revision)
      selections.set(key, selection)
      return selection
    },
  })
}

function scope(rule: Rule): Scoped {
  const problems = validateRule(rule)
  if (problems.length > 0) {
    throw new TypeError(
      `rule ${rule.name}: ${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`,
    )
  }
  const { id, name, type, action, match } = rule
  const globs = match?.models?.map((glob) => compileGlob(glob.toLowerCase()))
  const keys = match?.keys?.map(compileGlob)
  return {
    rule,
    reference: Object.freeze({ id, name, type, action }),
    concerns: (model, keyName) =>
      (globs === undefined || globs.some((matches) => matches(model))) &&
      (keys === undefined || keys.some((matches) => matches(keyName))),
  }
}

/** @param byModel the rules that concern each of the models; what one of them forbids or looks for counts for all */
function selectionOf(
  scoped: readonly Scoped[],
  byModel: readonly (readonly Scoped[])[],
  keywords: KeywordRuleIndex,
  revision: string,
): Selection {
  const chosen = new Set(byModel.flat())
  const ofType = (type: Rule['type']) =>
    scoped.filter((candidate) => candidate.rule.type === type && chosen.has(candidate))
  const pii = {
    request: strictest(byModel.map((rules) => piiDecisions(rules, 'request'))),
    response: strictest(byModel.map((rules) => piiDecisions(rules, 'response'))),
  }
  const chosenRules = new Set([...chosen].map(({ rule }) => rule))
  const keywordRules = {
    request: keywords.select(chosenRules, 'request'),
    response: keywords.select(chosenRules, 'response'),
  }
  const injection = ofType('prompt_injection').map(({ rule, reference }) =>
    Object.freeze({ rule: reference, threshold: accepted(parseThreshold(rule.pattern)) }),
  )
  return Object.freeze({
    revision,
    pii: (kind: PiiKind, direction: Direction) => pii[direction].get(kind) ?? UNRULED,
    keywords: (direction: Direction) => keywordRules[direction],
    injection,
    watchesInjection: injection.length > 0 && injection.every(({ rule }) => rule.action === 'monitor'),
    limits: ofType('rate_limit').map(({ rule, reference }) =>
      Object.freeze({ rule: reference, ...accepted(parseLimit(rule.pattern)) }),
    ),
  })
}

function keywordsOf(rule: Rule) {
  const parsed = parseKeywords(rule.pattern)
  if ('messages' in parsed) throw new TypeError(`rule ${rule.name}: ${parsed.messages.join('; ')}`)
  return parsed
}

/** From the weakest claim to the strongest, so that the last one stays. */
function piiDecisions(rules: readonly Scoped[], direction: Direction): PiiDecisions {
  const claims = rules
    .filter(({ rule }) => rule.type === 'pii' && concernsDirection(rule, direction))
    .map(({ rule, reference }) => ({ kinds: accepted(parseKinds(rule.pattern)), reference }))
    .reverse()
    .sort(
      (a, b) =>
        Number(b.kinds === '*') - Number(a.kinds === '*') ||
        RULE_ACTIONS.indexOf(b.reference.action) - RULE_ACTIONS.indexOf(a.reference.action),
    )
  const decisions = new Map<PiiKind, PiiDecision>()
  for (const { kinds, reference } of claims) {
    for (const kind of kinds === '*' ? PII_KINDS : kinds) {
      decisions.set(kind, Object.freeze({ action: reference.action, rule: reference }))
    }
  }
  return decisions
}

type PiiDecisions = ReadonlyMap<PiiKind, PiiDecision>

/** What holds wherever the call ends up: a model that is trusted with something is no way to others that are not. */
function strictest(byModel: readonly PiiDecisions[]): PiiDecisions {
  const [first = new Map<PiiKind, PiiDecision>(), ...others] = byModel
  if (others.length === 0) return first
  const decisions = PII_KINDS.map((kind) => byModel.map((one) => one.get(kind) ?? UNRULED).reduce(stricter))
  return new Map(PII_KINDS.map((kind, index) => [kind, decisions[index]!]))
}

/** Of two that do the same, the one with a rule to name. */
function stricter(one: PiiDecision, other: PiiDecision): PiiDecision {
  const difference = RULE_ACTIONS.indexOf(one.action) - RULE_ACTIONS.indexOf(other.action)
  return difference < 0 || (difference === 0 && one.rule !== null) ? one : other
}

/** The value of a pattern that was validated. */
function accepted<T>(parsed: Parsed<T>): T {
  if ('message' in parsed) throw new TypeError(parsed.message)
  return parsed.value
}
