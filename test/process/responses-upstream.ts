// Answers of a provider of the Responses API, whole and as events.

import { named } from './messages-upstream.ts'

export const RESPONSES_USAGE = {
  input_tokens: 13,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 18,
}

export const outputText = (text: string) => ({
  id: 'msg_67ccd2bf17f0',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
})

export const functionCall = (args: string) => ({
  id: 'fc_67ccd2bf17f0',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_unLAR8MvFNptuiZK6K6HCy5k',
  name: 'mail',
  arguments: args,
})

export const reasoning = (text: string) => ({
  id: 'rs_67ccd2bf17f0',
  type: 'reasoning',
  summary: [{ type: 'summary_text', text }],
  encrypted_content: 'gAAAAABoISQ24OyVRYbkYfukdJoqdzWT9yFADiR0iRbyzXlN8LMrVqYmW8tE4KTR',
})

/** A response with these items. */
export const responseOf = (...output: object[]) => ({
  id: 'resp_67ccd2bed1ec8190',
  object: 'response',
  created_at: 1_741_476_542,
  status: 'completed',
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  model: 'test/model',
  output,
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: true,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
  usage: RESPONSES_USAGE,
  user: null,
  metadata: {},
})

type Event = { readonly type: string } & Record<string, unknown>

/** A text part in pieces. */
export const streamedMessage =
  (...pieces: string[]) =>
  (output_index: number): Event[] => {
    const item = outputText(pieces.join(''))
    const [part] = item.content
    const place = { item_id: item.id, output_index, content_index: 0 }
    const begun = { ...part, text: '' }
    return [
      {
        type: 'response.output_item.added',
        output_index,
        item: { ...item, status: 'in_progress', content: [] },
      },
      { type: 'response.content_part.added', ...place, part: begun },
      ...pieces.map((delta, index) => ({
        type: 'response.output_text.delta',
        ...place,
        delta,
        logprobs: [],
        obfuscation: 'aB3xQ7mK'.slice(index % 8),
      })),
      { type: 'response.output_text.done', ...place, text: pieces.join(''), logprobs: [] },
      { type: 'response.content_part.done', ...place, part },
      { type: 'response.output_item.done', output_index, item },
    ]
  }

/** A call of a function, its arguments in pieces. */
export const streamedCall =
  (...pieces: string[]) =>
  (output_index: number): Event[] => {
    const item = functionCall(pieces.join(''))
    const place = { item_id: item.id, output_index }
    return [
      {
        type: 'response.output_item.added',
        output_index,
        item: { ...item, status: 'in_progress', arguments: '' },
      },
      ...pieces.map((delta) => ({ type: 'response.function_call_arguments.delta', ...place, delta })),
      { type: 'response.function_call_arguments.done', ...place, arguments: pieces.join('') },
      { type: 'response.output_item.done', output_index, item },
    ]
  }

/** A summary of reasoning in pieces. */
export const streamedReasoning =
  (...pieces: string[]) =>
  (output_index: number): Event[] => {
    const item = reasoning(pieces.join(''))
    const place = { item_id: item.id, output_index, summary_index: 0 }
    return [
      { type: 'response.output_item.added', output_index, item: { ...item, summary: [] } },
      { type: 'response.reasoning_summary_part.added', ...place, part: { type: 'summary_text', text: '' } },
      ...pieces.map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...place, delta })),
      { type: 'response.reasoning_summary_text.done', ...place, text: pieces.join('') },
      { type: 'response.reasoning_summary_part.done', ...place, part: item.summary[0] },
      { type: 'response.output_item.done', output_index, item },
    ]
  }

/** The events of a response with these items, numbered. */
export function responseEvents(items: readonly ((output_index: number) => Event[])[]): string[] {
  const events = items.map((item, index) => item(index))
  const output = events.map((one) => one.at(-1)!['item'] as object)
  const begun = { ...responseOf(), status: 'in_progress', usage: null }
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...events.flat(),
    { type: 'response.completed', response: responseOf(...output) },
  ].map((event, sequence_number) => named({ ...event, sequence_number }))
}
