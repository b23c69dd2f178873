// Judges the tool calls of one answer, whole or streamed, and counts them. Arguments are judged as
// the model wrote them and, where values are put back, as the client would get them.

import { decodeView } from '../../chat/inner-json/json-text.ts'
import type { ToolCall, ToolResult, WrittenArguments } from '../../chat/tool-format.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import type { ToolName } from '../../core/tool-name.ts'
import type { InjectionModel } from '../../detect/injection/score.ts'
import type { Selection } from '../../policy/compile.ts'
import type { RuleReference } from '../../policy/rule.ts'
import { type CallArguments, UNREADABLE } from '../../policy/tool-arguments.ts'
import type { CallRules, RefusedTool } from '../../policy/tool-rules.ts'
import type { Call } from '../call/call.ts'
import { ToolUse } from '../call/tool-use.ts'
import { rulesAfter } from '../prompt/answered-results.ts'
import { readArguments, writtenText } from '../scan/call-arguments.ts'
import type { Placeholders } from '../scan/placeholders.ts'
import { mayBeRestored } from '../scan/restore.ts'
import type { ScanRules } from '../scan/text-scanner.ts'
import { scanGroup } from './scan-group.ts'

/** The parts of an answer whose calls are judged. */
export interface ToolAnswer {
  readonly call: Call
  readonly scan: ScanRules
  readonly placeholders: Placeholders
  /** As in Pipeline. */
  readonly injection: InjectionModel
  readonly selection: Pick<Selection, 'openLabels'>
}

/** Judges the calls of an answer. Notes each on the call's record. */
export class CallJudge {
  /** The rules for the calls from here on. */
  rules: CallRules
  /** The first call that is refused; null while none is. */
  refused: RefusedTool | null = null
  readonly #answer: ToolAnswer
  readonly #hits = new Set<RuleReference>()

  constructor(answer: ToolAnswer, rules: CallRules) {
    this.#answer = answer
    this.rules = rules
  }

  /** Takes results in the answer, after which other rules may apply. */
  *follow(results: readonly ToolResult[]): Steps<void> {
    const { injection, selection } = this.#answer
    const { openLabels } = selection
    this.rules = yield* rulesAfter(this.rules, results, { injection, openLabels })
  }

  /** Counts a call. */
  count(tool: ToolName): void {
    useOf(this.#answer).called(tool.name)
  }

  /** Judges a call by its name. @returns whether it is refused */
  name(tool: ToolName, rules = this.rules): boolean {
    return this.#note(tool, rules.named(tool))
  }

  /**
   * Judges the arguments of a call.
   * @param given null for arguments that clients read in several ways
   * @returns whether it is refused
   */
  *judge(tool: ToolName, given: WrittenArguments | null, rules = this.rules): Steps<boolean> {
    if (!rules.named(tool).needsArguments) return false
    if (given === null) return this.#note(tool, yield* rules.withArguments(tool, UNREADABLE))
    const written = yield* rules.withArguments(tool, readArguments(given))
    if (this.#note(tool, written)) return true
    const restored = yield* this.#restored(given)
    return restored !== null && this.#note(tool, yield* rules.withArguments(tool, restored))
  }

  /** The arguments with restored values; null where nothing is restored. */
  *#restored(given: WrittenArguments): Steps<CallArguments | null> {
    const { scan, placeholders } = this.#answer
    if (scan.restoration === null) return null
    const text = writtenText(given)
    if (text === null) return null
    const encoding = given.type === 'text' ? 'plain' : 'json'
    // The brackets of a placeholder may be written as escapes of JSON.
    const view = yield* decodeView({ text, encoding }, 'response')
    if (!mayBeRestored(scan, view)) return null
    const { outputs } = yield* scanGroup([text], encoding, scan, placeholders, '')
    const { sent } = outputs[0]!
    return readArguments(
      given.type === 'text' ? { type: 'text', text: sent } : { type: 'written', text: sent },
    )
  }

  #note(
    tool: ToolName,
    { hits, refusing }: { readonly hits: readonly RuleReference[]; readonly refusing: RuleReference | null },
  ): boolean {
    for (const rule of hits) {
      if (this.#hits.has(rule)) continue
      this.#hits.add(rule)
      this.#answer.call.record.hits.push({ rule, direction: 'response' })
    }
    if (refusing === null) return false
    useOf(this.#answer).refused(tool.name)
    this.refused ??= { rule: refusing, tool: tool.name }
    return true
  }
}

/** What the call has counted of tools so far. */
function useOf({ call, scan }: Pick<ToolAnswer, 'call' | 'scan'>): ToolUse {
  call.record.tools ??= new ToolUse(scan.kinds)
  return call.record.tools
}

/** Judges and counts the calls of a whole answer, in steps. @returns the refused one, or null */
export function* judgeCalls(
  answer: ToolAnswer & { readonly calls: CallRules | null },
  calls: readonly ToolCall[],
): Steps<RefusedTool | null> {
  if (calls.length === 0) return null
  if (answer.calls === null) {
    countCalls(answer, calls)
    return null
  }
  const judge = new CallJudge(answer, answer.calls)
  const pace = new Pace()
  for (const { tool, given, after } of calls) {
    if (pace.isOver(tool.name.length)) yield
    yield* judge.follow(after)
    judge.count(tool)
    if (!judge.name(tool)) yield* judge.judge(tool, given)
  }
  return judge.refused
}

/** Counts the calls of an answer that no rule concerns. */
export function countCalls(answer: Pick<ToolAnswer, 'call' | 'scan'>, calls: readonly ToolCall[]): void {
  for (const { tool } of calls) useOf(answer).called(tool.name)
}
