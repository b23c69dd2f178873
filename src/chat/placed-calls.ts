// Reads the tool calls of an answer whose items are calls and results in order, with their places.

import { isObject, itemsIn, type JsonObject, type JsonValue } from '../core/json.ts'
import type { ToolName } from '../core/tool-name.ts'
import type { ToolCall, ToolResult } from './tool-format.ts'

/** A call of an answer, with its place among the items. */
interface PlacedCall {
  readonly call: ToolCall
  readonly place: string
}

/** How an API writes calls and results. Each returns null for an item without one. */
interface ItemReading {
  /** The member by which a result names its call. */
  readonly id: string
  toolOf(item: JsonObject): ToolName | null
  argumentsOf(item: JsonObject): ToolCall['given']
  /** @param byId the tools of the calls before it */
  resultOf(item: JsonObject, byId: ReadonlyMap<unknown, ToolName>): ToolResult | null
}

/** The objects of a list with their places. Servers may write an object in place of a list. */
function* placedIn(items: JsonValue | undefined): Generator<[place: string, item: JsonObject]> {
  if (isObject(items)) yield ['', items]
  if (typeof items !== 'object' || items === null) return
  for (const [place, item] of Object.entries(items))
    if (isObject(item)) yield [place, item]
    else if (Array.isArray(item)) for (const one of itemsIn(item)) yield [place, one]
}

/** Reads the calls of items, and the results after the last one. */
export function readPlacedCalls(
  items: JsonValue | undefined,
  { id, toolOf, argumentsOf, resultOf }: ItemReading,
): { readonly calls: readonly PlacedCall[]; readonly results: readonly ToolResult[] } {
  const byId = new Map<unknown, ToolName>()
  const calls: PlacedCall[] = []
  let results: ToolResult[] = []
  for (const [place, item] of placedIn(items)) {
    const tool = toolOf(item)
    if (tool !== null) {
      byId.set(item[id], tool)
      calls.push({ call: { tool, given: argumentsOf(item), after: results }, place })
      results = []
    }
    // An item may be a call and have its result.
    const result = resultOf(item, byId)
    if (result !== null) results.push(result)
  }
  return { calls, results }
}

/** What an event adds to arguments; null for nothing. Servers may send a value in place of text. */
export const pieceText = (piece: JsonValue | undefined): string | null =>
  typeof piece === 'string' ? piece : piece === undefined || piece === null ? null : JSON.stringify(piece)
