// Judges the captured exchange of a call by another rule set. The set sees the texts after
// redaction by the rules of the call, together with their findings: a value that they replaced is
// judged as a finding. Limits are left out; they depend on traffic.

import type { Api } from '../../chat/api-format.ts'
import { decodeView } from '../../chat/inner-json/json-text.ts'
import type { Direction, Finding } from '../../core/finding.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Steps } from '../../core/steps.ts'
import type { ToolName } from '../../core/tool-name.ts'
import { detectSteps } from '../../detect/pii/detect.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'
import type { Selection } from '../../policy/compile.ts'
import { decideResponse, type PlacedKind } from '../../policy/decide.ts'
import type { RuleHit, RuleReference } from '../../policy/rule.ts'

import { firedByCalls } from '../prompt/answered-results.ts'
import { type DecisionParts, judgePrompt } from '../prompt/decide-prompt.ts'
import { inspect } from '../prompt/inspect.ts'
import { judgeTools, readTools } from '../prompt/request-tools.ts'
import { findAnywhere } from '../scan/open-kinds.ts'
import { type DecideOnValue, judgeFindings, settle } from '../scan/overlaps.ts'
import { restorableValue } from '../scan/placeholders.ts'

/** A call as its log keeps it. */
export interface CapturedCall {
  readonly api: Api
  readonly request: JsonObject
  /** Null when there was no answer. */
  readonly response: JsonObject | null
  readonly asksForJson: boolean
  readonly models: readonly string[]
  /** The list of the key; null for none. */
  readonly keyModels: readonly string[] | null
  /** What the rules of the call found in a direction. */
  readonly found: (direction: Direction) => readonly PlacedKind[]
  /** Tools that the rules of the call took out of the request. */
  readonly removedTools: readonly ToolName[]
}

/** Returns every rule that fires. */
export function* judgeCaptured(
  parts: DecisionParts & { readonly kinds: KindSet },
  call: CapturedCall,
  selection: Selection,
): Steps<readonly RuleHit[]> {
  const { kinds, injection, placeholderStyle, pseudonyms } = parts
  const { api, request: body, response, models, keyModels } = call
  const read = readTools(api, body, selection)
  // What the rules in force removed was in the request.
  const defined = { ...read, defined: [...read.defined, ...call.removedTools] }
  const inspection = yield* inspect(
    yield* api.requestTexts(body, selection.readsNumbers('request')),
    selection,
    {
      kinds,
      injection,
      placeholderStyle,
      pseudonyms,
    },
  )
  const findings = [...call.found('request'), ...inspection.findings]
  const tools = yield* judgeTools(defined, selection, inspection.facts)
  const request = judgePrompt({ ...inspection, tools, models, keyModels, findings }, selection, parts)
  // A prompt that the rules deny has no answer.
  if (request.outcome === 'denial' || response === null) return request.hits
  const found: Omit<PlacedKind, 'place'>[] = [...call.found('response')]
  const words = new Set<RuleReference>()
  const keywords = selection.keywords('response')
  const replaced = selection.replacedKeywords('response')
  const openKinds = selection.openKinds('response')
  const decide: DecideOnValue = (kind, value) =>
    selection.piiValue(kind, 'answer', restorableValue(kind, value))
  const { texts } = api.answer.texts(response, selection.readsNumbers('response'))
  for (const text of yield* api.answer.group(texts, call.asksForJson)) {
    const view = yield* decodeView(text, 'response')
    const values: readonly Finding[] = openKinds === null ? [] : yield* findAnywhere(openKinds, view)
    const builtIn = yield* detectSteps(view, kinds)
    const judged = judgeFindings([...builtIn, ...values], 'detector', { start: 0, text: view }, decide)
    for (const { kind, finding, isFirst } of settle(judged, view))
      if (isFirst) found.push({ kind, decision: finding.decision })
    if (replaced !== null)
      for (const { pattern } of yield* findAnywhere(replaced, view)) words.add(replaced.rules[pattern]!)
    if (keywords === null) continue
    for (const { pattern } of yield* keywords.matcher.matchSteps(view)) words.add(keywords.rules[pattern]!)
  }
  const answer = decideResponse(selection, { findings: found, keywordHits: [...words] })
  const calls = api.tools?.calls(response) ?? []
  const fired = Array.from(
    yield* firedByCalls(tools.calls, calls, { injection, openLabels: selection.openLabels }),
    (rule): RuleHit => ({
      rule,
      direction: 'response',
    }),
  )
  return [...request.hits, ...answer.hits, ...fired]
}
