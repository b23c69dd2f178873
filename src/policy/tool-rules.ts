// Decides on the tools of a call: which definitions may be in the request, and which calls in the
// answer. Knows neither wire formats nor texts.

import { Pace, type Steps } from '../core/steps.ts'
import type { ToolName } from '../core/tool-name.ts'
import type { RuleReference } from './rule.ts'
import { ArgumentTests, type CallArguments } from './tool-arguments.ts'
import type { ToolConditions } from './tool-conditions.ts'
import { kinOf, type ToolKin } from './tool-kin.ts'
import { compileToolGlobs, compileToolList, type ToolList } from './tool-list.ts'

/** What a request says of tools. */
export interface ToolsInRequest {
  readonly defined: readonly ToolName[]
  /** Names of those that cannot leave the request, so that it is denied in place of that. */
  readonly fixed: ReadonlySet<string>
  /** Tools that the request tells the model to call. */
  readonly chosen: readonly ToolName[]
  /** Tools that earlier answers called. */
  readonly called: readonly ToolName[]
  /** Tools whose results the conversation holds; null for a result of a tool that is not named. */
  readonly results: readonly (ToolName | null)[]
}

export const NO_TOOLS: ToolsInRequest = {
  ...{ defined: [], chosen: [], called: [], results: [] },
  fixed: new Set(),
}

/** A tool that a rule refuses. */
export interface RefusedTool {
  readonly rule: RuleReference
  readonly tool: string
}

/** What the rules say of the tools of a request. */
export interface ToolJudgement {
  readonly hits: readonly RuleReference[]
  /** The first tool that denies the call; null for none. */
  readonly denied: RefusedTool | null
  /** Tools that must leave the request, by their names. */
  readonly removed: ReadonlySet<string>
  /** The rules for calls in the answer; null when none can concern one. */
  readonly calls: CallRules | null
}

/** The judgement without rules. */
export const NO_TOOL_RULES: ToolJudgement = { hits: [], denied: null, removed: new Set(), calls: null }

/** A rule as declared, parsed. */
interface ParsedToolRule {
  readonly rule: RuleReference
  readonly globs: readonly string[]
  readonly conditions: ToolConditions
}

interface ToolRule extends ParsedToolRule {
  readonly list: ToolList
  readonly follows: ((tool: ToolName) => boolean) | null
}

/** The rules of a rule set on tools, compiled once for every selection of them. */
export class ToolRuleIndex {
  readonly #rules: readonly ToolRule[]
  readonly #tests: ArgumentTests

  constructor(rules: readonly ParsedToolRule[]) {
    this.#rules = rules.map((one) => ({
      ...one,
      list: compileToolList(one.globs),
      follows: one.conditions.after === null ? null : compileToolGlobs(one.conditions.after),
    }))
    this.#tests = new ArgumentTests(rules.flatMap(({ conditions }) => conditions.arguments ?? []))
  }

  /** The chosen rules, by their references; null for none. */
  select(chosen: ReadonlySet<RuleReference>): ToolRules | null {
    const rules = this.#rules.filter(({ rule }) => chosen.has(rule))
    return rules.length === 0 ? null : new ToolRules(rules, this.#tests)
  }
}

/** The rules on tools that apply to a call. */
export class ToolRules {
  /** Whether a rule asks for the injection score of tool results. */
  readonly asksForScore: boolean
  readonly #rules: readonly ToolRule[]
  readonly #tests: ArgumentTests

  constructor(rules: readonly ToolRule[], tests: ArgumentTests) {
    this.#rules = rules
    this.#tests = tests
    this.asksForScore = rules.some(({ conditions }) => conditions.afterInjection !== null)
  }

  /**
   * Judges the tools of a request, in steps.
   *
   * A definition is refused by rules without conditions. After the results that a rule names its
   * definitions are removed too, if that is its action; with `block` only calls are refused then,
   * because agents define every tool in every request.
   * @param score highest injection score of the tool results; null when no rule asks for it
   */
  *judge(said: ToolsInRequest, score: number | null): Steps<ToolJudgement> {
    const kin = kinOf(said.defined)
    const tools = withKin(said, kin)
    const hits = new Set<RuleReference>()
    const removed = new Set<string>()
    let denied: RefusedTool | null = null
    const pace = new Pace()
    const active = this.#rules.filter((rule) => holdsIn(rule, tools, score))
    for (const rule of active.filter(({ conditions }) => conditions.arguments === null)) {
      const judgesDefinitions = !isNarrowed(rule) || rule.rule.action === 'remove'
      for (const tool of judgesDefinitions ? [...tools.defined, ...tools.chosen] : tools.chosen) {
        if (pace.isOver(NAME_UNITS)) yield
        if (!refuses(rule, tool)) continue
        hits.add(rule.rule)
        if (rule.rule.action === 'remove' && !tools.fixed.has(tool.name)) removed.add(tool.name)
        else if (isRefusing(rule.rule)) denied ??= { rule: rule.rule, tool: tool.name }
      }
      // What an earlier answer called has happened, so it refuses nothing.
      if (isNarrowed(rule) || hits.has(rule.rule)) continue
      for (const tool of tools.called) {
        if (pace.isOver(NAME_UNITS)) yield
        if (!refuses(rule, tool)) continue
        hits.add({ ...rule.rule, action: 'monitor' })
        break
      }
    }
    const waiting = this.#rules.filter((rule) => !active.includes(rule))
    const calls = new CallRules(
      { active, waiting: waiting.map((rule) => waitOf(rule, tools, score)) },
      this.#tests,
      kin,
    )
    return { hits: [...hits], denied, removed, calls }
  }

  /** The rules for the calls of an answer to an unknown conversation: every condition holds. */
  callsOfUnknown(): CallRules {
    return new CallRules({ active: this.#rules, waiting: [] }, this.#tests, kinOf([]))
  }
}

/** The tools of a request with the further names that its definitions give them. */
const withKin = (tools: ToolsInRequest, kin: ToolKin): ToolsInRequest => ({
  ...tools,
  chosen: tools.chosen.map(kin),
  called: tools.called.map(kin),
  results: tools.results.map((tool) => tool && kin(tool)),
})

/** What matching a name costs, in UTF-16 units of text. */
const NAME_UNITS = 256

/** What the rules say of a call by its name alone. */
export interface NamedCall {
  readonly hits: readonly RuleReference[]
  /** The rule that refuses the call; null when none does. */
  readonly refusing: RuleReference | null
  /** Whether its arguments have to be judged. */
  readonly needsArguments: boolean
  /** Whether they may refuse it, so that it must not leave before. */
  readonly mayBeRefused: boolean
}

/** What the rules say of a call with its arguments. */
export type JudgedCall = Pick<NamedCall, 'hits' | 'refusing'>

/** Names that are remembered for one answer. */
const MAXIMUM_KNOWN_NAMES = 256

/** A rule whose conditions the conversation does not meet yet. A result in the answer may. */
interface WaitingRule {
  readonly rule: ToolRule
  /** Whether a result of a tool that it names is missing. */
  readonly needsResult: boolean
  /** Whether a result with its injection score is missing. */
  readonly needsScore: boolean
}

/** The rules for the calls of one answer, from a point of it on. */
export class CallRules {
  readonly #rules: readonly ToolRule[]
  readonly #waiting: readonly WaitingRule[]
  readonly #tests: ArgumentTests
  readonly #kin: ToolKin
  readonly #known = new Map<string, NamedCall>()
  /** Whether a rule may ask for arguments, now or after a result. */
  readonly asksForArguments: boolean
  /** Whether a rule waits for the injection score of a result. */
  readonly asksForScore: boolean

  constructor(
    { active, waiting }: { readonly active: readonly ToolRule[]; readonly waiting: readonly WaitingRule[] },
    tests: ArgumentTests,
    kin: ToolKin,
  ) {
    this.#kin = kin
    this.#rules = active
    this.#waiting = waiting
    this.#tests = tests
    const all = [...active, ...waiting.map(({ rule }) => rule)]
    this.asksForArguments = all.some(({ conditions }) => conditions.arguments !== null)
    this.asksForScore = waiting.some(({ needsScore }) => needsScore)
  }

  /**
   * The rules for what comes after results in the answer.
   * @param tools that have a result; null for one that is not named, and may be any
   * @param score highest injection score of the results; 0 when no rule asks for it
   */
  following(tools: readonly (ToolName | null)[], score: number): CallRules {
    const results = tools.map((tool) => tool && this.#kin(tool))
    const waiting = this.#waiting.map((one) => stillWaiting(one, results, score))
    const isSame = waiting.every((one, index) => one === this.#waiting[index])
    if (isSame) return this
    const met = waiting.filter(isMet).map(({ rule }) => rule)
    const left = waiting.filter((one) => !isMet(one))
    return new CallRules({ active: [...this.#rules, ...met], waiting: left }, this.#tests, this.#kin)
  }

  /** Judges a call by its name. Rules on arguments are left out. */
  named(called: ToolName): NamedCall {
    const tool = this.#kin(called)
    const isPlain = !tool.isJoined && tool.also.length === 0
    const key = isPlain ? `=${tool.name}` : JSON.stringify([tool.isJoined, tool.name, ...tool.also])
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const concerning = this.#rules.filter((rule) => refuses(rule, tool))
    const pending = concerning.filter(({ conditions }) => conditions.arguments !== null)
    const made = {
      ...judged(concerning.filter((rule) => !pending.includes(rule))),
      needsArguments: pending.length > 0,
      mayBeRefused: pending.some(({ rule }) => isRefusing(rule)),
    }
    if (this.#known.size < MAXIMUM_KNOWN_NAMES) this.#known.set(key, made)
    return made
  }

  /** Judges a call by the rules on its arguments alone, in steps. */
  *withArguments(called: ToolName, given: CallArguments): Steps<JudgedCall> {
    const tool = this.#kin(called)
    const pending = this.#rules.filter((rule) => rule.conditions.arguments !== null && refuses(rule, tool))
    const tests = pending.flatMap(({ conditions }) => conditions.arguments!)
    const passed = yield* this.#tests.passed(given, tests)
    return judged(pending.filter(({ conditions }) => conditions.arguments!.every((test) => passed.has(test))))
  }
}

const judged = (rules: readonly ToolRule[]): JudgedCall => ({
  hits: rules.map(({ rule }) => rule),
  refusing: rules.find(({ rule }) => isRefusing(rule))?.rule ?? null,
})

/** A call of a removed tool is refused as a blocked one is. */
const isRefusing = ({ action }: RuleReference): boolean => action === 'block' || action === 'remove'

const isNarrowed = ({ conditions }: ToolRule): boolean =>
  conditions.arguments !== null || conditions.after !== null || conditions.afterInjection !== null

/**
 * A rule with conditions refuses only what its `!` globs name, and so does every rule of a name
 * that few clients read.
 */
const refuses = (rule: ToolRule, tool: ToolName): boolean =>
  isNarrowed(rule) || tool.isJoined ? rule.list.refuses(tool) : !rule.list.allows(tool)

/** Whether results meet the condition `after` of a rule. An unknown tool may be any. */
const isFollowed = ({ follows }: ToolRule, results: readonly (ToolName | null)[]): boolean =>
  follows === null || results.some((tool) => tool === null || follows(tool))

const isScored = ({ conditions: { afterInjection } }: ToolRule, score: number | null): boolean =>
  afterInjection === null || (score !== null && score >= afterInjection)

/** Whether the conversation meets the conditions of a rule. */
const holdsIn = (rule: ToolRule, { results }: ToolsInRequest, score: number | null): boolean =>
  isFollowed(rule, results) && isScored(rule, score)

const waitOf = (rule: ToolRule, { results }: ToolsInRequest, score: number | null): WaitingRule => ({
  rule,
  needsResult: !isFollowed(rule, results),
  needsScore: !isScored(rule, score),
})

/** What a rule waits for after some results; the same value where they change nothing. */
function stillWaiting(one: WaitingRule, tools: readonly (ToolName | null)[], score: number): WaitingRule {
  const needsResult = one.needsResult && !isFollowed(one.rule, tools)
  const needsScore = one.needsScore && !isScored(one.rule, score)
  const isSame = needsResult === one.needsResult && needsScore === one.needsScore
  return isSame ? one : { ...one, needsResult, needsScore }
}

const isMet = ({ needsResult, needsScore }: WaitingRule): boolean => !needsResult && !needsScore
