// The interface of a rule type: everything that the gateway knows of rules of one type. Knows no
// type by name; rule-types.ts lists them.

import type { Direction, PiiKind } from '../core/finding.ts'
import type { RuleAction } from '../core/rule-action.ts'
import type { ConditionProblem, WrittenConditions } from './tool-conditions.ts'
import type { ValueField, WrittenValueFields } from './value-fields.ts'

/** A pattern as a file or the API writes it: a list where the type has one, else a text. */
export type WrittenPattern = string | readonly string[]

/** Why a pattern cannot be read. Messages follow the name of the field. */
export interface PatternRefusal {
  readonly messages: readonly string[]
  /** Errors in the fields that narrow the rule. */
  readonly others?: readonly ConditionProblem[]
}

export const refuse = (message: string): PatternRefusal => ({ messages: [message] })

/**
 * What a type knows of a prompt when the policy decides, besides the texts themselves. There are
 * none of a call without a prompt, or whose prompt is not scanned.
 */
export interface PromptFacts {
  /**
   * From 0 to 1. Null when no rule asks for a score, or when every rule that does only monitors
   * (`Selection.watchesInjection`).
   */
  readonly injectionScore: number | null
  /** For injection rules without a threshold of their own. */
  readonly modelThreshold: number
}

/** A rule of one type, as far as the type looks at its declaration. */
export interface TypedRule<Pattern> {
  readonly pattern: Pattern
  readonly rule: {
    readonly pattern: WrittenPattern
    readonly action?: RuleAction
    readonly per?: string
    /** Absent for a rule that applies to every call. */
    readonly match?: object
  }
}

/** Fields of a rule that the meaning of its pattern depends on. */
export interface OtherFields extends WrittenConditions, WrittenValueFields {
  readonly per?: string
}

/** A warning about a valid rule that is probably wrong. */
export interface RuleWarning {
  readonly field: 'pattern' | 'action'
  readonly message: string
}

/** @typeParam Pattern the parsed pattern: plain data that survives JSON */
export interface RuleType<Pattern extends { readonly type: string } = { readonly type: string }> {
  readonly name: Pattern['type']
  /** The actions that it allows, the most common first; none for a type that takes no action. */
  readonly actions: readonly RuleAction[]
  /** The directions that `match` may name besides `both`; all when absent. */
  readonly directions?: { readonly allowed: readonly Direction[]; readonly because: string }
  /** Whether it replaces values, so that `placeholders` of a rule may say how. */
  readonly replaces?: true
  /** Whether it looks at texts, so that `match.parts` may narrow a rule. */
  readonly readsTexts?: true
  /** Whether `per` of a rule says which calls share its count. */
  readonly isCounted?: true
  /** The fields of VALUE_FIELDS that a rule may have. */
  readonly valueFields?: readonly ValueField[]
  /** Whether `arguments`, `after` and `afterInjection` may narrow a rule. */
  readonly narrowsTools?: true
  /** What it checks, for documents, without a full stop. */
  readonly checks: string
  /** How its pattern is written, for documents, without a full stop. */
  readonly writing: string
  /** How a form asks for its pattern: as a text or as a list of one item a line, with a hint. */
  readonly form: { readonly isList: boolean; readonly hint: string }
  /** @param fields of the rule that its pattern depends on */
  parse(written: WrittenPattern, fields: OtherFields): Pattern | PatternRefusal
  /**
   * Reports whether the first rule fires wherever the other does, on calls that both concern.
   * Absent for pii, of whose rules one decides on each kind (rulecheck/scope.ts).
   */
  includes?(wide: TypedRule<Pattern>, narrow: TypedRule<Pattern>): boolean
  lint?(one: TypedRule<Pattern>): readonly RuleWarning[]
  /** The open kinds of personal data that a rule names, which something has to define. */
  namesKinds?(pattern: Pattern): readonly PiiKind[]
  /** The open kind that a rule defines. */
  definesKind?(pattern: Pattern): PiiKind
  /**
   * Reports whether a rule fires on a prompt; absent for a type that looks at texts or counts. A
   * call without facts is not asked about: no such rule fires, and a blocking one lets it pass.
   */
  fires?(pattern: Pattern, facts: PromptFacts): boolean
}
