// Reads the tool calls of the Responses API: in the input, in answers and in the events of a
// stream. Each output item with a call is one.

import { isObject, type JsonObject, type JsonValue, objectsIn } from '../../core/json.ts'
import { serverTool, type ToolName, toolNamed } from '../../core/tool-name.ts'
import type {
  CallEvent,
  CallPiece,
  CallReader,
  ToolCall,
  ToolFormat,
  ToolHistory,
  WrittenArguments,
} from '../tool-format.ts'
import { providerTool } from '../tool-types.ts'

export const RESPONSE_TOOLS: ToolFormat = {
  history: ({ input }) => inputHistory(objectsIn(input)),
  calls: ({ output }) => objectsIn(output).flatMap((item) => callOf(item) ?? []),
  readCalls: () => new ResponseCallReader(),
}

const CALL = /^(\w+)_call$/
const RESULT = /^(\w+)_call_output$/

/** Calls that the client carries out; their results are items of their own. */
const CLIENT_CALLS: ReadonlySet<string> = new Set([
  ...['function', 'custom_tool', 'computer', 'local_shell', 'shell', 'apply_patch'],
])
/** Calls whose tool the client named, so that a result alone does not tell it. */
const NAMED_CALLS: ReadonlySet<string> = new Set(['function', 'custom_tool'])

function inputHistory(items: readonly JsonObject[]): ToolHistory {
  const byId = new Map<unknown, ToolName>()
  const called: ToolName[] = []
  const results: (ToolName | null)[] = []
  for (const item of items) {
    const { type, call_id: id } = item
    const tool = toolOf(item)
    if (tool !== null) {
      called.push(tool)
      byId.set(id, tool)
      const [, kind = ''] = CALL.exec(String(type)) ?? []
      // The provider has run the tool, and the item has its result.
      if (!CLIENT_CALLS.has(kind) && type !== 'mcp_approval_request') results.push(tool)
      continue
    }
    const [, kind] = RESULT.exec(String(type)) ?? []
    if (kind === undefined) continue
    results.push(byId.get(id) ?? (NAMED_CALLS.has(kind) ? null : providerTool(kind)))
  }
  return { called, results }
}

/** The tool that an item calls; null for any other item. */
function toolOf({ type, name, namespace, server_label: label }: JsonObject): ToolName | null {
  if (typeof type !== 'string') return null
  const written = typeof name === 'string' ? name : ''
  if (type === 'mcp_call' || type === 'mcp_approval_request') return serverTool(String(label ?? ''), written)
  const [, kind] = CALL.exec(type) ?? []
  if (kind === undefined) return null
  if (!NAMED_CALLS.has(kind)) return providerTool(kind)
  return typeof namespace === 'string' ? toolNamed(written, namespace) : toolNamed(written)
}

/** Members of an item that are no arguments. */
const OUTSIDE: ReadonlySet<string> = new Set(['id', 'type', 'status', 'call_id'])

function argumentsOf(item: JsonObject): WrittenArguments {
  const { type, arguments: written, input } = item
  if (type === 'custom_tool_call') return { type: 'text', text: typeof input === 'string' ? input : '' }
  if (typeof written === 'string') return { type: 'written', text: written }
  if (written !== undefined) return { type: 'value', value: written }
  // All of the item is what a provider's tool gets.
  const members = Object.entries(item).filter(([name]) => !OUTSIDE.has(name))
  return { type: 'value', value: Object.fromEntries(members) }
}

function callOf(item: JsonObject): ToolCall | null {
  const tool = toolOf(item)
  return tool === null ? null : { tool, given: argumentsOf(item) }
}

/** Occurs in every event that begins, holds or ends a call. */
const MAY_HOLD = /_call|mcp_approval|\\u/

const PIECE = /_call_(?:arguments|input|code)\.delta$/

class ResponseCallReader implements CallReader {
  /** Items with a call. */
  readonly #calls = new Set<string>()
  /** Those that have not ended. */
  readonly #open = new Set<string>()

  mayHold(data: string): boolean {
    return this.#calls.size > 0 || MAY_HOLD.test(data)
  }

  read(body: JsonObject): CallEvent | null {
    const { type, item, response } = body
    const event = { ended: [], isAlone: true, isRepeat: false } as const
    if (isObject(response) && Array.isArray(response['output'])) return this.#readOutput(response['output'])
    const key = keyOf(body)
    const none = { key, choice: null, tool: null, text: '', isText: false, whole: null, ends: false } as const
    if (isObject(item)) {
      const whole = callOf(item)
      if (whole === null) return null
      if (type === 'response.output_item.done') {
        this.#calls.add(key)
        this.#open.delete(key)
        return { ...event, pieces: [{ ...none, tool: whole.tool, whole, ends: true }] }
      }
      this.#calls.add(key)
      this.#open.add(key)
      return { ...event, pieces: [{ ...none, tool: whole.tool, isText: whole.given.type === 'text' }] }
    }
    if (!this.#calls.has(key)) return null
    const { delta } = body
    const isPiece = typeof delta === 'string' && PIECE.test(String(type))
    return { ...event, pieces: [{ ...none, text: isPiece ? delta : '' }] }
  }

  /** The last event has the whole answer, and ends what is open. */
  #readOutput(output: JsonValue[]): CallEvent | null {
    const pieces = output.flatMap((item, index): CallPiece[] => {
      const whole = isObject(item) ? callOf(item) : null
      if (whole === null) return []
      return [
        { key: String(index), choice: null, tool: whole.tool, text: '', isText: false, whole, ends: true },
      ]
    })
    const ended = [...this.#open]
    if (pieces.length === 0 && ended.length === 0) return null
    this.#open.clear()
    return { ended, pieces, isAlone: false, isRepeat: true }
  }

  /** An event holds at most one call, but for the last, which nothing holds back. */
  split(body: JsonObject): { readonly pieces: readonly JsonObject[]; readonly rest: null } {
    return { pieces: [body], rest: null }
  }
}

/** Names the item of an event by its index; by its id without one. */
function keyOf({ output_index: index, item_id: id, item }: JsonObject): string {
  if (typeof index === 'number') return String(index)
  return String(id ?? (isObject(item) ? item['id'] : '') ?? '')
}
