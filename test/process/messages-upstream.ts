// Answers of an Anthropic provider: messages, whole and as events.

import type { Answer } from './upstream.ts'

export const MESSAGES_USAGE = { input_tokens: 11, output_tokens: 7 }

/** A message with these content blocks. */
export const message = (...content: object[]) => ({
  id: 'msg_01',
  type: 'message',
  role: 'assistant',
  model: 'test/claude',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: MESSAGES_USAGE,
})

export const textBlock = (text: string) => ({ type: 'text', text })

/** An event with its name, as the provider writes it. */
export const named = (body: { readonly type: string; readonly [name: string]: unknown }): string =>
  `event: ${body.type}\ndata: ${JSON.stringify(body)}\n\n`

/** A content block of a stream: how it begins, and its deltas. */
export interface StreamedBlock {
  readonly begin: object
  readonly deltas: readonly object[]
}

/** A text in pieces. */
export const streamedText = (...pieces: string[]): StreamedBlock => ({
  begin: { type: 'text', text: '' },
  deltas: pieces.map((text) => ({ type: 'text_delta', text })),
})

/** A call of a tool, its input in pieces. */
export const streamedTool = (name: string, ...pieces: string[]): StreamedBlock => ({
  begin: { type: 'tool_use', id: 'toolu_01', name, input: {} },
  deltas: pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
})

/** Reasoning in pieces, signed. */
export const streamedThinking = (signature: string, ...pieces: string[]): StreamedBlock => ({
  begin: { type: 'thinking', thinking: '', signature: '' },
  deltas: [
    ...pieces.map((thinking) => ({ type: 'thinking_delta', thinking })),
    { type: 'signature_delta', signature },
  ],
})

/** The events of a message with these blocks. */
export function messageEvents(blocks: readonly StreamedBlock[], stopReason = 'end_turn'): string[] {
  const begun = {
    ...message(),
    content: [],
    stop_reason: null,
    usage: { input_tokens: 11, output_tokens: 1 },
  }
  return [
    named({ type: 'message_start', message: begun }),
    ...blocks.flatMap(({ begin, deltas }, index) => [
      named({ type: 'content_block_start', index, content_block: begin }),
      named({ type: 'ping' }),
      ...deltas.map((delta) => named({ type: 'content_block_delta', index, delta })),
      named({ type: 'content_block_stop', index }),
    ]),
    named({
      type: 'message_delta',
      delta: { stop_reason: stopReason, stop_sequence: null },
      usage: { output_tokens: 7 },
    }),
    named({ type: 'message_stop' }),
  ]
}

/** Streams texts, one write for each. */
export const streamed =
  (texts: readonly string[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    for (const text of texts) response.write(text)
    response.end()
  }
