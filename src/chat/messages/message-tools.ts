// Reads the tool calls of Anthropic's messages: in the conversation, in answers and in the events
// of a stream. Each content block with a call is one.

import { isObject, type JsonObject, objectsIn } from '../../core/json.ts'
import { serverTool, type ToolName, toolNamed } from '../../core/tool-name.ts'
import type { CallEvent, CallReader, ToolCall, ToolFormat, ToolHistory } from '../tool-format.ts'
import { providerTool } from '../tool-types.ts'

export const MESSAGE_TOOLS: ToolFormat = {
  history: messageHistory,
  calls: ({ content }) => objectsIn(content).flatMap((block) => callOf(block) ?? []),
  readCalls: () => new MessageCallReader(),
}

const RESULT = /^(\w+)_tool_result$/

function messageHistory({ messages }: JsonObject): ToolHistory {
  const byId = new Map<unknown, ToolName>()
  const called: ToolName[] = []
  const results: (ToolName | null)[] = []
  for (const message of objectsIn(messages)) {
    for (const block of objectsIn(message['content'])) {
      const { type, id, tool_use_id: of } = block
      const tool = toolOf(block)
      if (tool !== null) {
        called.push(tool)
        byId.set(id, tool)
      } else if (type === 'tool_result') results.push(byId.get(of) ?? null)
      else if (typeof type === 'string') {
        // A result of a tool that the provider ran.
        const [, kind] = RESULT.exec(type) ?? []
        if (kind === undefined) continue
        results.push(byId.get(of) ?? (kind === 'mcp' ? null : providerTool(kind)))
      }
    }
  }
  return { called, results }
}

/** The tool that a block calls; null for any other block. */
function toolOf({ type, name, server_name: server }: JsonObject): ToolName | null {
  const written = typeof name === 'string' ? name : ''
  if (type === 'mcp_tool_use') return serverTool(String(server ?? ''), written)
  if (type === 'server_tool_use') return providerTool(written)
  return type === 'tool_use' ? toolNamed(written) : null
}

function callOf(block: JsonObject): ToolCall | null {
  const tool = toolOf(block)
  return tool === null ? null : { tool, given: { type: 'value', value: block['input'] ?? {} } }
}

/** Occurs in every event that begins a call. */
const MAY_BEGIN = /tool_use|\\u/
/** Occurs in every event that adds to a call or ends one. */
const MAY_CONTINUE = /content_block|message_|\\u/

class MessageCallReader implements CallReader {
  /** Blocks with a call. */
  readonly #calls = new Set<string>()
  /** Those that have not ended. */
  readonly #open = new Set<string>()

  mayHold(data: string): boolean {
    return MAY_BEGIN.test(data) || (this.#calls.size > 0 && MAY_CONTINUE.test(data))
  }

  read(body: JsonObject): CallEvent | null {
    const { type, index, content_block: block, delta } = body
    const key = String(index ?? 0)
    const event = { ended: [], isAlone: true, isRepeat: false } as const
    const none = { key, choice: null, tool: null, text: '', isText: false, whole: null, ends: false } as const
    if (type === 'content_block_start' && isObject(block)) {
      const tool = toolOf(block)
      if (tool === null) return null
      this.#calls.add(key)
      this.#open.add(key)
      // Some servers send the whole input at once.
      const { input } = block
      const isWhole = isObject(input) && Object.keys(input).length > 0
      return { ...event, pieces: [{ ...none, tool, text: isWhole ? JSON.stringify(input) : '' }] }
    }
    if (type === 'message_delta' || type === 'message_stop') {
      const ended = [...this.#open]
      this.#open.clear()
      return ended.length === 0 ? null : { ...event, ended, pieces: [], isAlone: false }
    }
    if (!this.#calls.has(key)) return null
    if (type === 'content_block_stop') {
      this.#open.delete(key)
      return { ...event, pieces: [{ ...none, ends: true }] }
    }
    if (type !== 'content_block_delta' || !isObject(delta)) return null
    const { partial_json: text } = delta
    return { ...event, pieces: [{ ...none, text: typeof text === 'string' ? text : '' }] }
  }

  /** An event holds at most one call. */
  split(body: JsonObject): { readonly pieces: readonly JsonObject[]; readonly rest: null } {
    return { pieces: [body], rest: null }
  }
}
