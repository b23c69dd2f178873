// Reads the tool calls of chat completions: in messages, in answers and in the chunks of a stream.

import { isObject, type JsonObject, type JsonValue, objectsIn } from '../core/json.ts'
import { type ToolName, toolNamed } from '../core/tool-name.ts'
import { envelopeOf } from './channel.ts'
import { choiceIndex, finishReason } from './stream-chunk.ts'
import type {
  CallEvent,
  CallPiece,
  CallReader,
  ToolCall,
  ToolFormat,
  ToolHistory,
  WrittenArguments,
} from './tool-format.ts'

export const CHAT_TOOLS: ToolFormat = {
  history: chatHistory,
  calls: ({ choices }) => objectsIn(choices).flatMap(callsOfChoice),
  readCalls: () => new ChatCallReader(),
}

function chatHistory({ messages }: JsonObject): ToolHistory {
  const byId = new Map<string, ToolName>()
  const called: ToolName[] = []
  const results: (ToolName | null)[] = []
  for (const message of objectsIn(messages)) {
    const { role, tool_call_id: id, name } = message
    if (role === 'tool' || role === 'function') {
      const named = typeof name === 'string' ? toolNamed(name) : null
      results.push((typeof id === 'string' ? byId.get(id) : undefined) ?? named)
    }
    for (const item of objectsIn(message['tool_calls'])) {
      const tool = toolNamed(nameOf(item) ?? '')
      called.push(tool)
      if (typeof item['id'] === 'string') byId.set(item['id'], tool)
    }
    const { function_call: legacy } = message
    if (isObject(legacy)) called.push(toolNamed(String(legacy['name'] ?? '')))
  }
  return { called, results }
}

/** What a call says of its function or its custom tool. */
const innerOf = (item: JsonObject): JsonObject | null => {
  const { function: called, custom } = item
  if (isObject(called)) return called
  return isObject(custom) ? custom : null
}

function nameOf(item: JsonObject): string | null {
  const name = innerOf(item)?.['name']
  return typeof name === 'string' && name !== '' ? name : null
}

function argumentsOf(inner: JsonObject | null): WrittenArguments {
  const { arguments: written = '', input } = inner ?? {}
  if (typeof input === 'string') return { type: 'text', text: input }
  // Some servers send the arguments as a value.
  return typeof written === 'string' ? { type: 'written', text: written } : { type: 'value', value: written }
}

const callOf = (item: JsonObject): ToolCall => ({
  tool: toolNamed(nameOf(item) ?? ''),
  given: argumentsOf(innerOf(item)),
})

/** The call of the older form, as one of the newer. */
const legacyCall = (legacy: JsonObject): ToolCall => callOf({ function: legacy })

function callsOfMessage(message: JsonValue | undefined): ToolCall[] {
  if (!isObject(message)) return []
  const { tool_calls: list, function_call: legacy } = message
  const calls = objectsIn(list).map(callOf)
  return isObject(legacy) ? [...calls, legacyCall(legacy)] : calls
}

const callsOfChoice = ({ message }: JsonObject): ToolCall[] => callsOfMessage(message)

/** Occurs in every chunk with a call, unless characters are escaped that need not be. */
const MAY_HOLD = /_call|finish_reason"\s*:\s*"|\\u/

/** Members of a delta that are no content of their own. */
const CALL_MEMBERS: ReadonlySet<string> = new Set(['role', 'tool_calls', 'function_call'])

class ChatCallReader implements CallReader {
  /** The call of each choice that has begun and not ended, the newest. */
  readonly #open = new Map<number, string>()
  /** Calls of the chunks that were whole messages. */
  #wholes = 0

  mayHold(data: string): boolean {
    return MAY_HOLD.test(data)
  }

  read(body: JsonObject): CallEvent | null {
    const ended: string[] = []
    const pieces: CallPiece[] = []
    const choices = objectsIn(body['choices'])
    for (const choice of choices) {
      const index = choiceIndex(choice)
      for (const piece of this.#piecesOf(choice, index)) {
        const open = this.#open.get(index)
        // Servers send calls one after another.
        if (open !== undefined && open !== piece.key) ended.push(open)
        this.#open.set(index, piece.key)
        pieces.push(piece)
      }
      const open = this.#open.get(index)
      if (finishReason(choice) === null || open === undefined) continue
      this.#open.delete(index)
      ended.push(open)
    }
    if (pieces.length === 0 && ended.length === 0) return null
    const isAlone = pieces.length === 1 && choices.length === 1 && isOnlyCall(body, choices[0]!)
    const within = new Set(pieces.map(({ key }) => key))
    return {
      ended: ended.filter((key) => !within.has(key)),
      pieces: pieces.map((piece) => ({ ...piece, ends: ended.includes(piece.key) })),
      isAlone,
      isRepeat: false,
    }
  }

  *#piecesOf(choice: JsonObject, index: number): Generator<CallPiece> {
    const { delta, message } = choice
    for (const call of callsOfMessage(message)) {
      const key = `${index} whole ${this.#wholes++}`
      yield { key, choice: index, tool: call.tool, text: '', isText: false, whole: call, ends: false }
    }
    if (!isObject(delta)) return
    for (const [position, item] of objectsIn(delta['tool_calls']).entries())
      yield pieceOf(index, String(numberOf(item, position)), item)
    const { function_call: legacy } = delta
    if (isObject(legacy)) yield pieceOf(index, 'function', { function: legacy })
  }

  split(body: JsonObject): { readonly pieces: readonly JsonObject[]; readonly rest: JsonObject | null } {
    const pieces: JsonObject[] = []
    const choices = objectsIn(body['choices']).map((choice) => {
      const index = choiceIndex(choice)
      const { delta, message, ...others } = choice
      const alone = (members: JsonObject) =>
        pieces.push({ ...envelopeOf(body), choices: [{ index, ...members, finish_reason: null }] })
      for (const part of callsAlone(message)) alone({ message: part })
      for (const part of callsAlone(delta)) alone({ delta: part })
      return {
        ...others,
        ...(delta !== undefined && { delta: withoutCalls(delta) }),
        ...(message !== undefined && { message: withoutCalls(message) }),
      }
    })
    return { pieces, rest: { ...body, choices } }
  }
}

/** Each call of a message or a delta as the only one, with its number. */
function callsAlone(message: JsonValue | undefined): JsonObject[] {
  if (!isObject(message)) return []
  const { tool_calls: list, function_call: legacy } = message
  const calls = objectsIn(list).map((item, position) => ({
    tool_calls: [{ ...item, index: numberOf(item, position) }],
  }))
  return isObject(legacy) ? [...calls, { function_call: legacy }] : calls
}

/** The number of a call among those of its choice. */
const numberOf = ({ index }: JsonObject, position: number): number =>
  Number.isSafeInteger(index) ? (index as number) : position

function withoutCalls(message: JsonValue): JsonValue {
  if (!isObject(message)) return message
  const { tool_calls: _calls, function_call: _legacy, ...others } = message
  return others
}

/** Reports whether a chunk holds nothing but a call of its only choice. */
function isOnlyCall({ usage }: JsonObject, choice: JsonObject): boolean {
  const { delta, message } = choice
  if (isObject(usage) || message !== undefined || finishReason(choice) !== null) return false
  if (typeof choice['text'] === 'string' && choice['text'] !== '') return false
  return (
    isObject(delta) &&
    Object.entries(delta).every(
      ([name, value]) =>
        CALL_MEMBERS.has(name) ||
        value === null ||
        value === '' ||
        (Array.isArray(value) && value.length === 0),
    )
  )
}

function pieceOf(choice: number, call: string, item: JsonObject): CallPiece {
  const name = nameOf(item)
  const given = argumentsOf(innerOf(item))
  const isValue = given.type === 'value'
  return {
    key: `${choice} ${call}`,
    choice,
    tool: name === null ? null : toolNamed(name),
    text: isValue ? JSON.stringify(given.value) : given.text,
    isText: given.type === 'text',
    whole: null,
    ends: false,
  }
}
