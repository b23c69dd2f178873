// From declared rules to the frozen rule set that requests are judged by. Knows neither where rules come from nor
// what is done with a decision.

import type { Milliseconds } from '../core/clock.ts'
import { PII_KINDS, type PiiKind } from '../core/finding.ts'
import { compileGlob } from './glob.ts'
import { type KeywordMatcher, keywordMatcher } from './keyword.ts'
import { KeywordIndex } from './keyword-index.ts'
import { type Parsed, parseKinds, parseLimit, parseThreshold } from './pattern.ts'
import { type Direction, RULE_ACTIONS, type Rule, type RuleAction, type RuleReference } from './rule.ts'
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
   * then the first; without any rule the action is redact. In an answer `restore` concerns data new in it, which is
   * redacted; what is put back is decided by the prompt's rules alone.
   */
  pii(kind: PiiKind, direction: Direction): PiiDecision
  /** Null when no keyword rule concerns the direction. */
  keywords(direction: Direction): KeywordMatcher | null
  /** Rules that ask for the prompt's injection score. */
  readonly injection: readonly InjectionRule[]
  readonly limits: readonly LimitRule[]
}

/** Selections that are kept, one for each combination of rules that some call met. */
const MAX_SELECTIONS = 256

const DIRECTIONS: readonly Direction[] = ['request', 'response']

const UNRULED: PiiDecision = Object.freeze({ action: 'redact', rule: null })

/** An enabled rule, ready to be asked whether it concerns a call. */
interface Scoped {
  readonly rule: Rule
  readonly reference: RuleReference
  concerns(models: readonly string[], keyName: string): boolean
}

/**
 * Compiles rules, in order. Model globs ignore case, because upstreams do.
 * @throws TypeError for rules that validateRule refuses
 */
export function compileRules(rules: readonly Rule[], revision: string): RuleSet {
  const scoped = rules.filter(({ enabled }) => enabled).map(scope)
  const keywords = new KeywordIndex(
    scoped
      .filter(({ rule }) => rule.type === 'keyword_block')
      .map(({ reference, rule }) => ({ reference, pattern: rule.pattern })),
  )
  const selections = new Map<string, Selection>()
  return Object.freeze({
    revision,
    rules: Object.freeze([...rules]),
    select(models: readonly string[], keyName: string): Selection {
      const lowerModels = models.map((model) => model.toLowerCase())
      const chosen = scoped.filter((candidate) => candidate.concerns(lowerModels, keyName))
      const key =
        chosen.length === scoped.length ? 'all' : `some:${chosen.map(({ reference }) => reference.id).join()}`
      const known = selections.get(key)
      if (known !== undefined) return known
      if (selections.size >= MAX_SELECTIONS) selections.clear()
      const selection = selectionOf(chosen, keywords, revision)
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
    concerns: (models, keyName) =>
      (globs === undefined || globs.some((matches) => models.some(matches))) &&
      (keys === undefined || keys.some((matches) => matches(keyName))),
  }
}

function selectionOf(chosen: readonly Scoped[], keywords: KeywordIndex, revision: string): Selection {
  const ofType = (type: Rule['type']) => chosen.filter(({ rule }) => rule.type === type)
  const pii = {
    request: piiDecisions(ofType('pii'), 'request'),
    response: piiDecisions(ofType('pii'), 'response'),
  }
  const matchers = new Map<Direction, KeywordMatcher | null>(
    DIRECTIONS.map((direction) => {
      const rules = ofType('keyword_block').filter(({ rule }) => concernsDirection(rule, direction))
      return [direction, keywordMatcher(keywords, new Set(rules.map(({ reference }) => reference)))]
    }),
  )
  return Object.freeze({
    revision,
    pii: (kind: PiiKind, direction: Direction) => pii[direction].get(kind) ?? UNRULED,
    keywords: (direction: Direction) => matchers.get(direction) ?? null,
    injection: ofType('prompt_injection').map(({ rule, reference }) =>
      Object.freeze({ rule: reference, threshold: accepted(parseThreshold(rule.pattern)) }),
    ),
    limits: ofType('rate_limit').map(({ rule, reference }) =>
      Object.freeze({ rule: reference, ...accepted(parseLimit(rule.pattern)) }),
    ),
  })
}

const concernsDirection = ({ match }: Rule, direction: Direction): boolean =>
  match?.direction === undefined || match.direction === 'both' || match.direction === direction

/** From the weakest claim to the strongest, so that the last one stays. */
function piiDecisions(rules: readonly Scoped[], direction: Direction): ReadonlyMap<PiiKind, PiiDecision> {
  const claims = rules
    .filter(({ rule }) => concernsDirection(rule, direction))
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

/** The value of a pattern that was validated. */
function accepted<T>(parsed: Parsed<T>): T {
  if ('message' in parsed) throw new TypeError(parsed.message)
  return parsed.value
}
