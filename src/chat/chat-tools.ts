// Reads the tool calls of chat completions: in messages, in answers and in the chunks of a stream.

import { GatewayError } from '../core/errors.ts'
import { isObject, itemsIn, type JsonObject, type JsonValue, objectsIn } from '../core/json.ts'
import { type ToolName, toolNamed, writtenName } from '../core/tool-name.ts'
import { envelopeOf } from './channel.ts'
import { choiceIndex, finishReason } from './stream-chunk.ts'
import {
  type CallEvent,
  type CallPiece,
  type CallReader,
  EMPTY_EVENT,
  EMPTY_PIECE,
  type ToolCall,
  type ToolFormat,
  type ToolHistory,
  type WrittenArguments,
} from './tool-format.ts'

export const CHAT_TOOLS: ToolFormat = {
  history: chatHistory,
  calls: ({ choices }) =>
    itemsIn(choices).flatMap((choice) => [...partsOf(choice)].flatMap(({ item }) => callsOf(item))),
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
    for (const { item } of partsOfMessage(message)) {
      for (const { tool } of callsOf(item)) {
        called.push(tool)
        if (typeof item['id'] === 'string') byId.set(item['id'], tool)
      }
    }
  }
  return { called, results }
}

/** A call in a message or a delta. */
interface CallPart {
  /** In the form of a list's item, also for the older `function_call`. */
  readonly item: JsonObject
  /** Its place in the list; null for the older form. */
  readonly position: number | null
}

/** The calls of a message or a delta, in order. */
function partsOfMessage(message: JsonValue | undefined): CallPart[] {
  if (!isObject(message)) return []
  const { tool_calls: list, function_call: legacy } = message
  const parts = callItems(list).map((item, position): CallPart => ({ item, position }))
  return isObject(legacy) ? [...parts, { item: { function: legacy }, position: null }] : parts
}

/** The items of a list of calls. An object is one call, or has calls by their numbers. */
function callItems(list: JsonValue | undefined): JsonObject[] {
  const items = itemsIn(list)
  if (!isObject(list)) return items
  const calls = items.filter((one) => isObject(one['function']) || isObject(one['custom']))
  return calls.length > 0 ? calls : items.filter(({ name }) => name !== undefined)
}

/** The places of a choice that hold calls. */
const HOLDERS = ['message', 'delta'] as const

function* partsOf(choice: JsonObject): Generator<CallPart & { readonly holder: (typeof HOLDERS)[number] }> {
  for (const holder of HOLDERS) for (const part of partsOfMessage(choice[holder])) yield { ...part, holder }
}

/** What a call says of its function and of its custom tool. With both, clients read either. */
function innersOf(item: JsonObject): JsonObject[] {
  const inners = [item['function'], item['custom']].filter(isObject)
  return inners.length === 0 && item['name'] !== undefined ? [item] : inners
}

function argumentsOf({ arguments: written = '', input }: JsonObject): WrittenArguments {
  if (typeof input === 'string') return { type: 'text', text: input }
  // Some servers send the arguments as a value, or null for none.
  if (written === null) return { type: 'written', text: '' }
  return typeof written === 'string' ? { type: 'written', text: written } : { type: 'value', value: written }
}

/** The calls of an item: one, but for an item with two names. */
const callsOf = (item: JsonObject): ToolCall[] =>
  orEmpty(innersOf(item)).map((inner) => ({
    tool: toolNamed(writtenName(inner['name']) ?? ''),
    given: argumentsOf(inner),
    after: [],
  }))

/** An item that says nothing is a call without a name. */
const orEmpty = (inners: readonly JsonObject[]): readonly JsonObject[] =>
  inners.length === 0 ? [{}] : inners

/** Occurs in every chunk with a call, unless characters are escaped that need not be. */
const MAY_HOLD = /_call|finish_reason"\s*:\s*"|\\u/

/** Members of a delta that are no content of their own. */
const CALL_MEMBERS: ReadonlySet<string> = new Set(['role', 'tool_calls', 'function_call'])

/** The calls of a choice. */
class ChoiceCalls {
  /** The id and the name that each key has last had. */
  readonly known = new Map<string, { id: JsonValue | undefined; name: string | null }>()
  /** The key that an id came with first. */
  readonly byId = new Map<JsonValue, string>()
  /** Keys that have begun and not ended. */
  readonly unfinished = new Set<string>()
  /** The key of the newest piece. */
  last: string | null = null
  /** Whether its pieces have an index; null before the first. */
  #isNumbered: boolean | null = null

  /** Notes whether a piece has an index. @throws GatewayError when only some pieces have one */
  number(isNumbered: boolean): void {
    this.#isNumbered ??= isNumbered
    // No server does that, and no two clients read it alike.
    if (this.#isNumbered !== isNumbered) throw new GatewayError('upstream_unavailable', SOME_NUMBERED)
  }
}

const NO_LIST = "The choices in the upstream's answer are no list."
const SOME_NUMBERED = "Only some of the tool calls in the upstream's answer have an index."

/** A piece, and whether clients may give its arguments to different calls. */
interface ReadPiece {
  readonly piece: CallPiece
  readonly isUnclear: boolean
}

class ChatCallReader implements CallReader {
  readonly #choices = new Map<number, ChoiceCalls>()

  mayHold(data: string): boolean {
    return MAY_HOLD.test(data)
  }

  read(body: JsonObject): CallEvent | null {
    const ended: string[] = []
    const left: string[] = []
    const read: ReadPiece[] = []
    // The scan of a stream reads lists of choices only.
    if (isObject(body['choices'])) throw new GatewayError('upstream_unavailable', NO_LIST)
    const choices = itemsIn(body['choices'])
    for (const choice of choices) {
      const calls = this.#callsOf(choiceIndex(choice))
      for (const part of partsOf(choice)) {
        const one = readPiece(choiceIndex(choice), calls, part)
        const { key } = one.piece
        if (calls.last !== null && calls.last !== key) left.push(calls.last)
        calls.last = key
        calls.unfinished.add(key)
        read.push(one)
      }
      if (finishReason(choice) === null) continue
      ended.push(...calls.unfinished)
      calls.unfinished.clear()
    }
    if (read.length === 0 && ended.length === 0) return null
    const within = new Map(read.map(({ piece }, at) => [piece.key, at]))
    const ends = new Set(ended)
    return {
      ...EMPTY_EVENT,
      ended: ended.filter((key) => !within.has(key)),
      left: left.filter((key) => !within.has(key)),
      pieces: read.map(({ piece }, at) => ({
        ...piece,
        ends: ends.has(piece.key) && within.get(piece.key) === at,
      })),
      isAlone: read.length === 1 && choices.length === 1 && isOnlyCall(body, choices[0]!),
      isUnclear: read.some(({ isUnclear }) => isUnclear),
    }
  }

  #callsOf(choice: number): ChoiceCalls {
    let calls = this.#choices.get(choice)
    if (calls === undefined) {
      calls = new ChoiceCalls()
      this.#choices.set(choice, calls)
    }
    return calls
  }

  split(body: JsonObject): { readonly pieces: readonly JsonObject[]; readonly rest: JsonObject | null } {
    const pieces: JsonObject[] = []
    const choices = itemsIn(body['choices']).map((choice) => {
      const index = choiceIndex(choice)
      for (const { item, position, holder } of partsOf(choice)) {
        const call = position === null ? { function_call: item['function']! } : listOf(item, position)
        pieces.push({ ...envelopeOf(body), choices: [{ index, [holder]: call, finish_reason: null }] })
      }
      const { delta, message, ...others } = choice
      return {
        ...others,
        ...(delta !== undefined && { delta: withoutCalls(delta) }),
        ...(message !== undefined && { message: withoutCalls(message) }),
      }
    })
    return { pieces, rest: { ...body, choices } }
  }
}

/** A call as the only one of a list. Without an index it keeps its place. */
const listOf = (item: JsonObject, position: number): JsonObject => ({
  tool_calls: [indexOf(item) === null ? { ...item, index: position } : item],
})

/** What numbers a call among those of its choice; null where nothing does. */
const indexOf = ({ index }: JsonObject): string | null =>
  typeof index === 'number' || typeof index === 'string' ? String(index) : null

/** The id of a call as the name of a member; undefined for none, and what clients take as none. */
const idOf = ({ id }: JsonObject): string | undefined => (id ? String(id) : undefined)

/**
 * Reads a piece. Clients find its call by the index, by the id, or by both; some take a piece with
 * another id or another name as a further call.
 */
function readPiece(
  choice: number,
  calls: ChoiceCalls,
  { item, position, holder }: CallPart & { readonly holder: string },
): ReadPiece {
  const inners = innersOf(item)
  const tools = inners.flatMap((inner) => writtenName(inner['name']) ?? []).map((name) => toolNamed(name))
  const given = inners.map(argumentsOf)
  const isMessage = holder === 'message'
  const index = position === null ? 'function' : (indexOf(item) ?? (isMessage ? String(position) : null))
  if (!isMessage && position !== null) calls.number(index !== null)
  const key = `${choice} ${index ?? 'without index'}`
  const id = idOf(item)
  const isElsewhere = id !== undefined && (calls.byId.get(id) ?? key) !== key
  // Clients that go by ids take a piece without one as a part of the newest call.
  const isStray = isElsewhere || (id === undefined && !isMessage)
  const begins = beginningOf(calls, { key, id, tools, isMessage, isNew: index === null })
  if (id !== undefined && !calls.byId.has(id)) calls.byId.set(id, key)
  const text = given.map((one) => (one.type === 'value' ? JSON.stringify(one.value) : one.text)).join('')
  const isText = given.length === 1 && given[0]!.type === 'text'
  return {
    piece: { ...EMPTY_PIECE, key, choice, tools, isStray, text, isText, begins },
    isUnclear: isElsewhere && tools.length === 0,
  }
}

interface Beginning extends Pick<CallPiece, 'key' | 'tools'> {
  readonly id: JsonValue | undefined
  /** Whether it is of a whole message, which has all of the call. */
  readonly isMessage: boolean
  /** Whether a name alone makes it a further call. */
  readonly isNew: boolean
}

/** Reads what a piece begins, and notes its id and its name. */
function beginningOf(
  { known }: ChoiceCalls,
  { key, id, tools, isMessage, isNew }: Beginning,
): CallPiece['begins'] {
  const name = tools.at(-1)?.name ?? null
  const before = known.get(key)
  known.set(key, { id: id ?? before?.id, name: name ?? before?.name ?? null })
  if (before === undefined) return null
  const isOther = id !== undefined && before.id !== undefined && before.id !== id
  if (name !== null && (isOther || isNew)) return 'call'
  const isRenamed = name !== null && before.name !== null && name !== before.name
  return isOther || isRenamed || isMessage ? 'arguments' : null
}

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
