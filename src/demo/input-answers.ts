// Answers of the stand-in to inputs without messages: completions, embeddings and moderations.

import {
  countTokens,
  type DemoAnswer,
  dataEvent,
  newId,
  nowSeconds,
  piecesOf,
  replyTo,
  textOf,
  usageOf,
} from './demo-answer.ts'

const NO_TOOLS = { functions: [], choice: 'none', parallel: false } as const

interface CompletionBody {
  readonly model?: string
  readonly prompt?: unknown
  readonly stream_options?: { readonly include_usage?: boolean }
}

export function answerCompletion({ model, prompt, stream_options }: CompletionBody): DemoAnswer {
  const text = replyTo({ text: textOf(prompt), results: [], tools: NO_TOOLS }).text ?? ''
  const usage = usageOf(prompt, text)
  const envelope = { id: newId('cmpl'), object: 'text_completion', created: nowSeconds(), model }
  const choice = (piece: string, finish_reason: string | null) => ({
    index: 0,
    text: piece,
    logprobs: null,
    finish_reason,
  })
  const chunk = (choices: object[], more: object = {}) => dataEvent({ ...envelope, choices, ...more })
  return {
    whole: { ...envelope, choices: [choice(text, 'stop')], usage },
    events: [
      ...[...piecesOf(text)].map((piece) => chunk([choice(piece, null)])),
      chunk([choice('', 'stop')]),
      ...(stream_options?.include_usage === true ? [chunk([], { usage })] : []),
      'data: [DONE]\n\n',
    ],
  }
}

interface InputBody {
  readonly model?: string
  readonly input?: unknown
  readonly encoding_format?: string
}

const DIMENSIONS = 8

/** Vectors of the lengths of words, so that equal texts have equal vectors. */
export function answerEmbeddings({ model, input, encoding_format }: InputBody): DemoAnswer {
  const data = inputsOf(input).map((one, index) => {
    const vector = vectorOf(textOf(one))
    const embedding =
      encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector]
    return { object: 'embedding', index, embedding }
  })
  const prompt_tokens = countTokens(input)
  const usage = { prompt_tokens, total_tokens: prompt_tokens }
  return { whole: { object: 'list', data, model, usage }, events: [] }
}

function vectorOf(text: string): Float32Array {
  const lengths = new Float32Array(DIMENSIONS)
  for (const [at, word] of text.split(/\s+/).entries()) lengths[at % DIMENSIONS]! += word.length
  const norm = Math.hypot(...lengths) || 1
  return lengths.map((length) => length / norm)
}

/** Finds nothing to object to. */
export const answerModeration = ({ model, input }: InputBody): DemoAnswer => ({
  whole: {
    id: newId('modr'),
    model,
    results: inputsOf(input).map(() => ({ flagged: false, categories: {}, category_scores: {} })),
  },
  events: [],
})

/** A list of numbers is one input: token ids. */
const inputsOf = (input: unknown): readonly unknown[] =>
  Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
