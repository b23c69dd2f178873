// Splits a whole message into the events of a stream, for a client that asked for a stream.

import { isObject, type JsonObject } from '../../core/json.ts'
import { encodeEvent } from '../sse.ts'

/** Reports whether a body is a message. */
export const isMessage = ({ content }: JsonObject): boolean => Array.isArray(content)

/**
 * The events whose clients join them into the message: each content block is one delta. Citations
 * and a signature are deltas of their own. Linear in the message.
 */
export function* messageEvents(message: JsonObject): Generator<string> {
  const { content, stop_reason = null, stop_sequence = null, usage = null } = message
  const begun = { ...message, content: [], stop_reason: null, stop_sequence: null }
  yield encode({ type: 'message_start', message: begun })
  for (const [index, block] of (Array.isArray(content) ? content : []).entries()) {
    if (!isObject(block)) continue
    const { begin, deltas } = blockEvents(block)
    yield encode({ type: 'content_block_start', index, content_block: begin })
    for (const delta of deltas) yield encode({ type: 'content_block_delta', index, delta })
    yield encode({ type: 'content_block_stop', index })
  }
  yield encode({ type: 'message_delta', delta: { stop_reason, stop_sequence }, usage })
  yield encode({ type: 'message_stop' })
}

function blockEvents(block: JsonObject): { begin: JsonObject; deltas: JsonObject[] } {
  const { type } = block
  if (type === 'text') {
    const { text = '', citations, ...others } = block
    const cited = Array.isArray(citations) ? citations : []
    return {
      begin: { ...others, text: '' },
      deltas: [
        { type: 'text_delta', text },
        ...cited.map((citation) => ({ type: 'citations_delta', citation })),
      ],
    }
  }
  if (type === 'thinking') {
    const { thinking = '', signature = '', ...others } = block
    return {
      begin: { ...others, thinking: '', signature: '' },
      deltas: [
        { type: 'thinking_delta', thinking },
        { type: 'signature_delta', signature },
      ],
    }
  }
  if (type === 'tool_use' || type === 'server_tool_use') {
    const { input = {}, ...others } = block
    const partial_json = JSON.stringify(input)
    return { begin: { ...others, input: {} }, deltas: [{ type: 'input_json_delta', partial_json }] }
  }
  // Blocks of other types are complete in their first event.
  return { begin: block, deltas: [] }
}

const encode = (event: JsonObject): string =>
  encodeEvent(`event: ${String(event['type'])}`, JSON.stringify(event))
