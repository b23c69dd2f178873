// Answers of a provider of chat completions that call a tool, whole and as events.

import { completion, event } from './upstream.ts'

/** A whole chat completion that calls a tool. */
export const calling = (name: string, args: string) => {
  const body = completion('')
  const [choice] = body.choices
  const calls = [{ id: 'c', type: 'function', function: { name, arguments: args } }]
  return {
    ...body,
    choices: [{ ...choice, message: { ...choice!.message, tool_calls: calls }, finish_reason: 'tool_calls' }],
  }
}

/** The events of one with a text before the call, whose arguments come in pieces. */
export const streamCalling = (name: string, ...pieces: string[]) => [
  event({
    choices: [{ index: 0, delta: { role: 'assistant', content: 'Let me look.' }, finish_reason: null }],
  }),
  event({
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name, arguments: '' } }] },
        finish_reason: null,
      },
    ],
  }),
  ...pieces.map((piece) =>
    event({
      choices: [
        {
          index: 0,
          delta: { tool_calls: [{ index: 0, function: { arguments: piece } }] },
          finish_reason: null,
        },
      ],
    }),
  ),
  event({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }),
  event('[DONE]'),
]
