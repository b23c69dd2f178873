// Reads the tools of a request, asks the rules about them, and takes out of it what they remove.

import type { Api } from '../../chat/api-format.ts'
import type { RemovedItems } from '../../chat/json-rewrite.ts'
import { readDefinitions, type ToolDefinitions } from '../../chat/tool-definitions.ts'
import { NO_HISTORY } from '../../chat/tool-format.ts'
import type { JsonObject } from '../../core/json.ts'
import { Pace, type Steps } from '../../core/steps.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { Selection } from '../../policy/compile.ts'
import type { FactsOfParts } from '../../policy/decide.ts'
import { NO_TOOL_RULES, type ToolJudgement, type ToolsInRequest } from '../../policy/tool-rules.ts'
import { ToolUse } from '../call/tool-use.ts'

/** The tools of a request as received, before anything in it is replaced. */
export interface RequestTools extends ToolsInRequest {
  /** Null without any. */
  readonly definitions: ToolDefinitions | null
}

/** Reads the tools of a request; the conversation only where a rule may ask about it. */
export function readTools(
  { tools: format }: Pick<Api, 'tools'>,
  body: JsonObject,
  { tools: rules }: Pick<Selection, 'tools'>,
): RequestTools {
  const definitions = format === undefined ? null : readDefinitions(body)
  const { defined = [], chosen = [], fixed = NO_NAMES, unseen = [] } = definitions ?? {}
  const { called, results } = format === undefined || rules === null ? NO_HISTORY : format.history(body)
  return { definitions, defined, fixed, chosen, called, results: [...results, ...unseen] }
}

const NO_NAMES: ReadonlySet<string> = new Set()

/** Parts of a prompt whose injection score a rule on tools may ask for. */
const RESULTS = ['tool_result'] as const

/** What the rules say of the tools of a request, in steps. */
export function* judgeTools(
  tools: ToolsInRequest,
  { tools: rules }: Pick<Selection, 'tools'>,
  facts: FactsOfParts,
): Steps<ToolJudgement> {
  if (rules === null) return NO_TOOL_RULES
  return yield* rules.judge(tools, rules.asksForScore ? facts(RESULTS).injectionScore : null)
}

const NONE_REMOVED: RemovedItems = new Map()

/** Takes out of the body, in place, what the rules remove. */
export const removeTools = ({ definitions }: RequestTools, { removed }: ToolJudgement): RemovedItems =>
  removed.size === 0 || definitions === null ? NONE_REMOVED : definitions.remove(removed)

/** Counts the definitions of a request, in steps; null without any. */
export function* countDefinitions(
  { defined, chosen }: ToolsInRequest,
  { removed, denied }: ToolJudgement,
  kinds: KindSet,
): Steps<ToolUse | null> {
  if (defined.length === 0 && denied === null) return null
  const use = new ToolUse(kinds)
  const pace = new Pace()
  for (const { name } of defined) {
    if (pace.isOver(name.length)) yield
    use.defined(name)
  }
  for (const name of new Set([...defined, ...chosen].map((tool) => tool.name)))
    if (removed.has(name) || denied?.tool === name) use.refused(name)
  return use
}
