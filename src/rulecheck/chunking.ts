// Turns an answer into the byte chunks of an upstream's stream, cut at random. The same seed gives
// the same cuts.

import type { Api } from '../chat/api-format.ts'
import { CHAT } from '../chat/chat-api.ts'
import { DONE, encodeData } from '../chat/sse.ts'
import { isObject, type JsonObject, type JsonValue, objectsIn } from '../core/json.ts'

/**
 * Longest chunk of a text and of the stream's bytes; short, so that cuts fall inside the matches of
 * rules.
 */
const MAXIMUM_TEXT_CHUNK = 12
const MAXIMUM_BYTE_CHUNK = 200

/** The chunks of an event stream that carries the answer; none for an API without streams. */
export function streamOf(api: Api, answer: JsonObject, random: () => number): Buffer[] {
  const text = api === CHAT ? chatEvents(answer, random) : [...api.answer.toEvents(answer)].join('')
  return cut([...Buffer.from(text)], MAXIMUM_BYTE_CHUNK, random).map((piece) => Buffer.from(piece))
}

/** The events of a chat completion, its texts cut too. */
function chatEvents(answer: JsonObject, random: () => number): string {
  const choices = objectsIn(answer['choices'])
  const events = choices.flatMap((choice, place) => choiceEvents(choice, place, random))
  const { choices: _choices, ...envelope } = answer
  const text = events.map((choice) =>
    encodeData(JSON.stringify({ ...envelope, object: 'chat.completion.chunk', choices: [choice] })),
  )
  return `${text.join('')}${encodeData(DONE)}`
}

function choiceEvents(choice: JsonObject, place: number, random: () => number): JsonObject[] {
  const { message, finish_reason: finishReason = 'stop', index = place } = choice
  const deltas: JsonObject[] = [{ role: 'assistant' }]
  for (const [name, value] of Object.entries(isObject(message) ? message : {})) {
    if (name === 'role') continue
    if (typeof value === 'string') {
      deltas.push(...cut([...value], MAXIMUM_TEXT_CHUNK, random).map((piece) => ({ [name]: piece.join('') })))
    } else if (name === 'tool_calls' && Array.isArray(value)) {
      deltas.push(...value.flatMap((call, number) => toolDeltas(call, number, random)))
    } else {
      deltas.push({ [name]: value })
    }
  }
  return [
    ...deltas.map((delta) => ({ index, delta, finish_reason: null })),
    { index, delta: {}, finish_reason: finishReason },
  ]
}

function toolDeltas(call: JsonValue, index: number, random: () => number): JsonObject[] {
  const declared = isObject(call) && isObject(call['function']) ? call['function'] : null
  const text = declared?.['arguments']
  if (!isObject(call) || declared === null || typeof text !== 'string') {
    return [{ tool_calls: [isObject(call) ? { ...call, index } : call] }]
  }
  return [
    { tool_calls: [{ ...call, index, function: { ...declared, arguments: '' } }] },
    ...cut([...text], MAXIMUM_TEXT_CHUNK, random).map((piece) => ({
      tool_calls: [{ index, function: { arguments: piece.join('') } }],
    })),
  ]
}

function cut<Item>(items: readonly Item[], longest: number, random: () => number): Item[][] {
  const pieces: Item[][] = []
  for (let at = 0; at < items.length; ) {
    const length = 1 + Math.floor(random() * longest)
    pieces.push(items.slice(at, at + length))
    at += length
  }
  return pieces
}
