// Splits a whole response into the events of a stream, for a client that asked for a stream.

import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { encodeEvent } from '../sse.ts'

/** Reports whether a body is a response. */
export const isResponse = ({ output }: JsonObject): boolean => Array.isArray(output)

/** Status of a response, and the event that ends its stream. */
const LAST_EVENTS: Readonly<Record<string, string>> = {
  incomplete: 'response.incomplete',
  failed: 'response.failed',
}

/**
 * The events whose clients join them into the response: the texts of messages and the arguments of
 * calls are one delta each, other items are complete in theirs. Linear in the response.
 */
export function* responseEvents(response: JsonObject): Generator<string> {
  let sequence_number = 0
  const encode = (event: JsonObject) =>
    encodeEvent(
      `event: ${String(event['type'])}`,
      JSON.stringify({ ...event, sequence_number: sequence_number++ }),
    )
  const begun = { ...response, status: 'in_progress', output: [], usage: null }
  yield encode({ type: 'response.created', response: begun })
  yield encode({ type: 'response.in_progress', response: begun })
  const { output, status } = response
  for (const [output_index, item] of (Array.isArray(output) ? output : []).entries()) {
    if (isObject(item)) for (const event of itemEvents(item, output_index)) yield encode(event)
  }
  const type = (typeof status === 'string' ? LAST_EVENTS[status] : undefined) ?? 'response.completed'
  yield encode({ type, response })
}

function* itemEvents(item: JsonObject, output_index: number): Generator<JsonObject> {
  const { type, content, arguments: written } = item
  const place = { item_id: item['id'] ?? '', output_index }
  if (type === 'message' && Array.isArray(content)) {
    yield added(output_index, { ...item, status: 'in_progress', content: [] })
    for (const [content_index, part] of content.entries())
      yield* partEvents(part, { ...place, content_index })
  } else if (type === 'function_call' && typeof written === 'string') {
    yield added(output_index, { ...item, status: 'in_progress', arguments: '' })
    yield { type: 'response.function_call_arguments.delta', ...place, delta: written }
    yield { type: 'response.function_call_arguments.done', ...place, arguments: written }
  } else yield added(output_index, item)
  yield { type: 'response.output_item.done', output_index, item }
}

const added = (output_index: number, item: JsonObject): JsonObject => ({
  type: 'response.output_item.added',
  output_index,
  item,
})

function* partEvents(part: JsonValue, place: JsonObject): Generator<JsonObject> {
  if (!isObject(part)) return
  const { text, logprobs = [] } = part
  if (typeof text !== 'string') {
    yield { type: 'response.content_part.added', ...place, part }
  } else {
    yield { type: 'response.content_part.added', ...place, part: { ...part, text: '' } }
    yield { type: 'response.output_text.delta', ...place, delta: text, logprobs }
    yield { type: 'response.output_text.done', ...place, text, logprobs }
  }
  yield { type: 'response.content_part.done', ...place, part }
}
