// Reads the tool calls of the Responses API: in the input, in answers and in the events of a
// stream. Each output item with a call is one.

import { isObject, itemsIn, type JsonObject, type JsonValue } from '../../core/json.ts'
import { serverTool, type ToolName, toolNamed, writtenName } from '../../core/tool-name.ts'
import { pieceText, readPlacedCalls } from '../placed-calls.ts'
import {
  type CallEvent,
  type CallPiece,
  type CallReader,
  EMPTY_EVENT,
  EMPTY_PIECE,
  type ToolFormat,
  type ToolHistory,
  type ToolResult,
  type WrittenArguments,
} from '../tool-format.ts'
import { providerTool } from '../tool-types.ts'

export const RESPONSE_TOOLS: ToolFormat = {
  history: ({ input }) => inputHistory(itemsIn(input)),
  calls: ({ output }) => readItems(output).calls.map(({ call }) => call),
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
    const tool = toolOf(item)
    if (tool !== null) {
      called.push(tool)
      byId.set(item['call_id'], tool)
    }
    const result = resultOf(item, byId)
    if (result !== null) results.push(result.tool)
  }
  return { called, results }
}

/** The tool that an item calls; null for any other item. */
function toolOf(item: JsonObject): ToolName | null {
  const { type, namespace, server_label: label } = item
  const name = writtenName(item['name'])
  if (type === 'mcp_call' || type === 'mcp_approval_request')
    return serverTool(String(label ?? ''), name ?? '')
  const [, kind] = CALL.exec(String(type)) ?? []
  if (kind === undefined) {
    // An item of an unknown type with a name and arguments may be a call to some clients.
    const isCall = name !== null && ('arguments' in item || 'input' in item)
    return isCall && !OTHER_NAMED.test(String(type)) ? toolNamed(name) : null
  }
  if (!NAMED_CALLS.has(kind)) {
    const known = providerTool(kind)
    return name === null ? known : toolNamed(name, known.name, ...known.also)
  }
  return typeof namespace === 'string' ? toolNamed(name ?? '', namespace) : toolNamed(name ?? '')
}

/** Items with a name that are no calls: results, and messages of a named participant. */
const OTHER_NAMED = /_output$|^message$/

/**
 * The result of a tool that an item has; null for any other item. The item of a call that the
 * provider carries out has its result too.
 */
function resultOf(item: JsonObject, byId: ReadonlyMap<unknown, ToolName>): ToolResult | null {
  const { type, call_id: id, output = null } = item
  const [, kind] = CALL.exec(String(type)) ?? []
  const { results = null, outputs = results, result = outputs } = item
  if (kind !== undefined && !CLIENT_CALLS.has(kind)) return { tool: toolOf(item), value: output ?? result }
  const [, of] = RESULT.exec(String(type)) ?? []
  if (of === undefined) return null
  return { tool: byId.get(id) ?? (NAMED_CALLS.has(of) ? null : providerTool(of)), value: output }
}

/** Members of an item that are no arguments. */
const OUTSIDE: ReadonlySet<string> = new Set(['id', 'type', 'status', 'call_id'])

function argumentsOf(item: JsonObject): WrittenArguments {
  const { type, arguments: written, input } = item
  if (type === 'custom_tool_call') return { type: 'text', text: typeof input === 'string' ? input : '' }
  if (typeof written === 'string') return { type: 'written', text: written }
  if (written !== undefined) return { type: 'value', value: written }
  if (typeof input === 'string') return { type: 'text', text: input }
  if (input !== undefined) return { type: 'value', value: input }
  // All of the item is what a provider's tool gets.
  const members = Object.entries(item).filter(([name]) => !OUTSIDE.has(name))
  return { type: 'value', value: Object.fromEntries(members) }
}

/** Reads the calls of an output, and the results after the last one. */
const readItems = (output: JsonValue | undefined) =>
  readPlacedCalls(output, { id: 'call_id', toolOf, argumentsOf, resultOf })

/** Occurs in every event that begins, holds or ends a call, or has a result. */
const MAY_HOLD = /_call|mcp_approval|"arguments"|"input"|\\u/

const PIECE = /_call_(?:arguments|input|code)\.(delta|done)$/
/** What the code interpreter runs, which is a member of its arguments. */
const CODE = /_call_code\.delta$/

class ResponseCallReader implements CallReader {
  /** Items with a call. */
  readonly #calls = new Set<string>()
  /** Those that have not ended. */
  readonly #open = new Set<string>()
  /** Calls whose first event had arguments, to which clients join the others or not. */
  readonly #begun = new Set<string>()
  /** Keys of items by their ids. Clients read one or the other. */
  readonly #byId = new Map<string, string>()
  readonly #byCallId = new Map<unknown, ToolName>()

  mayHold(data: string): boolean {
    return this.#calls.size > 0 || MAY_HOLD.test(data)
  }

  read(body: JsonObject): CallEvent | null {
    const { type, item, response, item_id: id } = body
    if (isObject(response) && typeof response['output'] === 'object' && response['output'] !== null)
      return this.#readOutput(response['output'])
    const key = keyOf(body)
    if (isObject(item)) return this.#readItem(key, item, type === 'response.output_item.done')
    const [, part] = PIECE.exec(String(type)) ?? []
    if (part === undefined && !this.#calls.has(key)) return null
    // A piece may come before the item that names its call.
    this.#begin(key)
    const isUnclear = typeof id === 'string' && (this.#byId.get(id) ?? key) !== key
    const begins = part === 'delta' && this.#begun.delete(key) ? 'arguments' : null
    return { ...pieceEvent({ key, begins, ...partOf(body, part) }), isUnclear }
  }

  #begin(key: string): void {
    if (this.#calls.has(key)) return
    this.#calls.add(key)
    this.#open.add(key)
  }

  #readItem(key: string, item: JsonObject, isDone: boolean): CallEvent | null {
    const tool = toolOf(item)
    if (tool !== null) this.#byCallId.set(item['call_id'], tool)
    const result = resultOf(item, this.#byCallId)
    const results = result === null ? [] : [result]
    if (tool === null) return results.length === 0 ? null : { ...EMPTY_EVENT, results }
    this.#begin(key)
    const { id } = item
    if (typeof id === 'string' && !this.#byId.has(id)) this.#byId.set(id, key)
    const given = argumentsOf(item)
    const isText = given.type === 'text'
    if (isDone) {
      this.#open.delete(key)
      return { ...pieceEvent({ key, tools: [tool], whole: given, ends: true }), results }
    }
    // What a provider's tool gets is not written in pieces.
    const text = given.type === 'value' ? '' : given.text
    if (text !== '') this.#begun.add(key)
    return { ...pieceEvent({ key, tools: [tool], isText, text }), results }
  }

  /** The last event has the whole answer, and ends what is open. */
  #readOutput(output: JsonValue): CallEvent | null {
    const { calls, results } = readItems(output)
    const pieces = calls.map(({ call: { tool, given, after }, place }) => ({
      ...EMPTY_PIECE,
      ...{ key: place, tools: [tool], after, whole: given, ends: true },
    }))
    const ended = [...this.#open]
    if (pieces.length === 0 && ended.length === 0 && results.length === 0) return null
    this.#open.clear()
    return { ...EMPTY_EVENT, ended, pieces, results, isAlone: false }
  }

  /** An event holds at most one call, but for the last, which nothing holds back. */
  split(body: JsonObject): { readonly pieces: readonly JsonObject[]; readonly rest: null } {
    return { pieces: [body], rest: null }
  }
}

/** What an event has of the arguments of a call. @param part whether it adds to them or has all */
function partOf(body: JsonObject, part: string | undefined): Partial<CallPiece> {
  const { type, delta, name } = body
  if (part === 'delta') return CODE.test(String(type)) ? {} : { text: pieceText(delta) ?? '' }
  if (part === undefined) return {}
  const { arguments: written, input, code } = body
  const named = writtenName(name)
  const tools = named === null ? [] : [toolNamed(named)]
  if (typeof written === 'string') return { tools, whole: { type: 'written', text: written } }
  if (typeof input === 'string') return { tools, whole: { type: 'text', text: input } }
  const value = written ?? input ?? null
  if (value !== null) return { tools, whole: { type: 'value', value } }
  return typeof code === 'string' ? { whole: { type: 'value', value: { code } } } : {}
}

const pieceEvent = (piece: Partial<CallPiece> & Pick<CallPiece, 'key'>): CallEvent => ({
  ...EMPTY_EVENT,
  pieces: [{ ...EMPTY_PIECE, ...piece }],
})

/** Names the item of an event by its index; by its id without one. */
function keyOf({ output_index: index, item_id: id, item }: JsonObject): string {
  if (typeof index === 'number') return String(index)
  return String(id ?? (isObject(item) ? item['id'] : '') ?? '')
}
