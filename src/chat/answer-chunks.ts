// Splits a whole answer into the chunks of a stream, for a client that asked for a stream.

import { isObject, type JsonObject, type JsonValue, objectsIn } from '../core/json.ts'
import { envelopeOf, isReasoning } from './channel.ts'
import { isChannelName, isReplacedString } from './delta-fields.ts'
import { DONE, encodeData } from './sse.ts'
import { isErrorBody } from './stream-chunk.ts'
import { setMember } from './text.ts'
import { readUsage } from './token-usage.ts'

/** Longest text in one chunk, UTF-16 units, plus one where a surrogate pair would be cut. */
const PIECE_UNITS = 16 * 1024

/** Members of a message that servers stream after all others. */
const CALLS: readonly string[] = ['tool_calls', 'function_call']
/** The object in a tool call that holds its text, and the member with the text. */
const CALL_TEXTS = [
  ['function', 'arguments'],
  ['custom', 'input'],
] as const

/** Reports whether an answer has a choice. */
export const hasChoices = ({ choices }: JsonObject): boolean =>
  Array.isArray(choices) && choices.some(isObject)

/**
 * Returns the chunks that a client joins into the answer: for each choice its role, its texts in
 * the order in which servers stream them, and its finish reason; then the usage, if it can be read,
 * and the error, if there is one. Members next to `choices` are in the first chunk. The items of
 * `tool_calls` get their position as `index`. Linear in the answer.
 */
export function* answerChunks(answer: JsonObject): Generator<JsonObject> {
  const { choices, usage, error, ...others } = answer
  const common = { ...envelopeOf(answer), object: 'chat.completion.chunk' }
  let envelope: JsonObject = { ...others, ...common }
  for (const [index, choice] of numbered(objectsIn(choices))) {
    for (const part of choiceParts(choice)) {
      yield { ...envelope, choices: [{ index, ...part }] }
      envelope = common
    }
  }
  if (usage !== undefined && readUsage({ usage }) !== null) yield { ...common, choices: [], usage }
  if (error !== undefined && isErrorBody({ error })) yield { ...common, choices: [], error }
}

/** The events of those chunks, and the one after them. */
export function* chunkEvents(answer: JsonObject): Generator<string> {
  for (const chunk of answerChunks(answer)) yield encodeData(JSON.stringify(chunk))
  yield encodeData(DONE)
}

/** Numbers choices by their own `index`, or by position when these are no distinct numbers. */
function numbered(choices: readonly JsonObject[]): [number, JsonObject][] {
  const own = new Set(choices.map(({ index }) => (Number.isSafeInteger(index) ? index : undefined)))
  const isDistinct = own.size === choices.length && !own.has(undefined)
  return choices.map((choice, position) => [isDistinct ? (choice['index'] as number) : position, choice])
}

function* choiceParts(choice: JsonObject): Generator<JsonObject> {
  const { index: _index, finish_reason = null, ...rest } = choice
  for (const name of ['message', 'delta']) {
    const message = rest[name]
    if (!isObject(message)) continue
    for (const delta of messageDeltas(message)) yield { delta, finish_reason: null }
    delete rest[name]
  }
  const { text } = rest
  if (typeof text === 'string') {
    for (const piece of piecesOf(text)) yield { delta: {}, text: piece, finish_reason: null }
    delete rest['text']
  }
  yield { delta: {}, finish_reason, ...rest }
}

/** The role and the empty members come first. */
function* messageDeltas(message: JsonObject): Generator<JsonObject> {
  const { role = 'assistant', ...members } = message
  const opening: JsonObject = { role }
  const texts: [string, JsonValue][] = []
  for (const [name, value] of Object.entries(members)) {
    if (value === null || value === '') setMember(opening, name, value)
    else texts.push([name, value])
  }
  yield opening
  for (const [name, value] of texts.sort(([one], [other]) => rank(one) - rank(other)))
    yield* memberDeltas(name, value)
}

function rank(name: string): number {
  if (isReasoning(name)) return 0
  if (name === 'content') return 1
  return CALLS.includes(name) ? 3 : 2
}

function* memberDeltas(name: string, value: JsonValue): Generator<JsonObject> {
  if (typeof value === 'string' && grows(name, value)) {
    for (const piece of piecesOf(value)) yield { [name]: piece }
  } else if (name === 'tool_calls' && Array.isArray(value)) {
    for (const [index, call] of value.entries()) {
      if (!isObject(call)) yield { tool_calls: [call] }
      else for (const part of callParts(call)) yield { tool_calls: [{ ...part, index }] }
    }
  } else if (name === 'function_call' && isObject(value)) {
    for (const part of partsBy(value, 'arguments')) yield { function_call: part }
  } else yield { [name]: value }
}

/** Reports whether clients append a string of a later chunk. Any other stays in one chunk. */
const grows = (name: string, value: string): boolean => isChannelName(name) && !isReplacedString(name, value)

function* callParts(call: JsonObject): Generator<JsonObject> {
  const [holder, text] = CALL_TEXTS.find(([name]) => isObject(call[name])) ?? ['', '']
  const inside = call[holder]
  if (!isObject(inside)) {
    yield call
    return
  }
  const [first, ...later] = partsBy(inside, text)
  yield { ...call, [holder]: first! }
  for (const part of later) yield { [holder]: part }
}

/** Splits an object at one of its texts; the first part has its other members. */
function partsBy(object: JsonObject, name: string): JsonObject[] {
  const text = object[name]
  if (typeof text !== 'string' || text.length <= PIECE_UNITS) return [object]
  return [...piecesOf(text)].map((piece, at) => ({ ...(at === 0 ? object : {}), [name]: piece }))
}

function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    let end = at + PIECE_UNITS
    if (isHighSurrogate(text.charCodeAt(end - 1))) end++
    yield text.slice(at, end)
    at = end
  }
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
