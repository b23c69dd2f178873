// Reads the tool calls of Anthropic's messages: in the conversation, in answers and in the events
// of a stream. Each content block with a call is one.

import { isObject, itemsIn, type JsonObject, type JsonValue, objectsIn } from '../../core/json.ts'
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
} from '../tool-format.ts'
import { providerTool, toolOfSet } from '../tool-types.ts'

export const MESSAGE_TOOLS: ToolFormat = {
  history: messageHistory,
  calls: ({ content }) => readBlocks(content).calls.map(({ call }) => call),
  readCalls: () => new MessageCallReader(),
}

const RESULT = /^(\w*?)_?tool_result$/

function messageHistory({ messages }: JsonObject): ToolHistory {
  const byId = new Map<unknown, ToolName>()
  const called: ToolName[] = []
  const results: (ToolName | null)[] = []
  for (const message of objectsIn(messages)) {
    for (const block of itemsIn(message['content'])) {
      const tool = toolOf(block)
      if (tool !== null) {
        called.push(tool)
        byId.set(block['id'], tool)
      }
      const result = resultOf(block, byId)
      if (result !== null) results.push(result.tool)
    }
  }
  return { called, results }
}

/** Blocks whose names, if they have one, are not of a tool. */
const NO_CALLS: ReadonlySet<unknown> = new Set([
  ...['text', 'thinking', 'redacted_thinking', 'image', 'document', 'search_result', 'container_upload'],
])

/** The tool that a block calls; null for any other block. */
function toolOf({ type, name: named, server_name: server, toolset_name: set }: JsonObject): ToolName | null {
  const name = writtenName(named)
  if (type === 'mcp_tool_use') return serverTool(String(server ?? ''), name ?? '')
  if (type === 'server_tool_use') return providerTool(name ?? '')
  if (type === 'tool_use') return typeof set === 'string' ? toolOfSet(set, name ?? '') : toolNamed(name ?? '')
  // A block of an unknown type with a name may be a call to some clients.
  const isOther = name === null || NO_CALLS.has(type) || RESULT.test(String(type))
  return isOther ? null : toolNamed(name)
}

/** The result of a tool that a block has; null for any other block. */
function resultOf(
  { type, tool_use_id: of, content = null }: JsonObject,
  byId: ReadonlyMap<unknown, ToolName>,
): ToolResult | null {
  const [, kind] = RESULT.exec(String(type)) ?? []
  if (kind === undefined) return null
  return {
    tool: byId.get(of) ?? (kind === 'mcp' || kind === '' ? null : providerTool(kind)),
    value: content,
  }
}

/** Reads the calls of blocks, and the results after the last one. */
const readBlocks = (blocks: JsonValue | undefined) =>
  readPlacedCalls(blocks, {
    ...{ id: 'id', toolOf, resultOf },
    argumentsOf: ({ input = {} }) => ({ type: 'value', value: input ?? {} }),
  })

/** Occurs in every event that begins a block, which are counted, or has arguments. */
const MAY_BEGIN = /content_block_start|input_json|message_start|\\u/
/** Occurs in every event that adds to a call or ends one. */
const MAY_CONTINUE = /content_block|message_|\\u/

class MessageCallReader implements CallReader {
  /** Blocks with a call. */
  readonly #calls = new Set<string>()
  /** Those that have not ended. */
  readonly #open = new Set<string>()
  /** Calls whose first event had arguments, which those of further events replace. */
  readonly #begun = new Set<string>()
  readonly #byId = new Map<unknown, ToolName>()
  /** Blocks so far. Clients count them, or read their numbers. */
  #blocks = 0

  mayHold(data: string): boolean {
    return MAY_BEGIN.test(data) || (this.#calls.size > 0 && MAY_CONTINUE.test(data))
  }

  read(body: JsonObject): CallEvent | null {
    const { type, index, content_block: block, delta, message } = body
    if (type === 'message_start' && isObject(message)) return this.#readStart(message['content'])
    const key = String(index ?? 0)
    if (type === 'content_block_start' && isObject(block)) return this.#readBlock(key, block)
    if (type === 'message_delta' || type === 'message_stop') {
      const ended = [...this.#open]
      this.#open.clear()
      return ended.length === 0 ? null : { ...EMPTY_EVENT, ended, isAlone: false }
    }
    if (type === 'content_block_delta' && isObject(delta)) {
      const text = pieceText(delta['partial_json'])
      // Some clients give arguments without a call of their own to another.
      if (!this.#calls.has(key)) return text === null ? null : UNCLEAR
      const begins = this.#begun.delete(key) ? 'arguments' : null
      return pieceEvent({ key, text: text ?? '', begins })
    }
    if (type !== 'content_block_stop' || !this.#calls.has(key)) return null
    this.#open.delete(key)
    return pieceEvent({ key, ends: true })
  }

  /** Reads the blocks that a message begins with: none, but some servers send whole ones. */
  #readStart(blocks: JsonValue | undefined): CallEvent | null {
    const { calls, results } = readBlocks(blocks)
    this.#blocks = typeof blocks === 'object' && blocks !== null ? Object.keys(blocks).length : 0
    const pieces = calls.map(({ call, place }): CallPiece => {
      this.#calls.add(place)
      const { tool, given, after } = call
      return { ...EMPTY_PIECE, key: place, tools: [tool], after, whole: given, ends: true }
    })
    if (pieces.length === 0 && results.length === 0) return null
    return { ...EMPTY_EVENT, pieces, results, isAlone: false }
  }

  #readBlock(key: string, block: JsonObject): CallEvent | null {
    const isUnclear = key !== String(this.#blocks++)
    const result = resultOf(block, this.#byId)
    if (result !== null) return { ...EMPTY_EVENT, results: [result], isUnclear }
    const tool = toolOf(block)
    if (tool === null) return isUnclear && this.#calls.size > 0 ? UNCLEAR : null
    this.#byId.set(block['id'], tool)
    const begins = this.#calls.has(key) ? 'call' : null
    this.#calls.add(key)
    this.#open.add(key)
    // Some servers send the whole input at once.
    const { input = null } = block
    const isWhole = input !== null && input !== '' && !(isObject(input) && Object.keys(input).length === 0)
    if (isWhole) this.#begun.add(key)
    const text = isWhole ? JSON.stringify(input) : ''
    return { ...pieceEvent({ key, tools: [tool], text, begins }), isUnclear }
  }

  /** An event holds at most one call, but for the first, which nothing holds back. */
  split(body: JsonObject): { readonly pieces: readonly JsonObject[]; readonly rest: null } {
    return { pieces: [body], rest: null }
  }
}

const UNCLEAR: CallEvent = { ...EMPTY_EVENT, isUnclear: true }

const pieceEvent = (piece: Partial<CallPiece> & Pick<CallPiece, 'key'>): CallEvent => ({
  ...EMPTY_EVENT,
  pieces: [{ ...EMPTY_PIECE, ...piece }],
})
