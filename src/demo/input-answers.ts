// Answers of the stand-in to inputs that get no text: embeddings and moderations.

import { countTokens, type DemoBody, newId, textOf } from './demo-answer.ts'

const DIMENSIONS = 8

/** Vectors of the lengths of words, so that equal texts have equal vectors. */
export function answerEmbeddings({ model, input, encoding_format }: DemoBody): object {
  const data = inputsOf(input).map((one, index) => {
    const vector = vectorOf(textOf(one))
    const embedding =
      encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector]
    return { object: 'embedding', index, embedding }
  })
  const prompt_tokens = countTokens(input)
  return { object: 'list', data, model, usage: { prompt_tokens, total_tokens: prompt_tokens } }
}

function vectorOf(text: string): Float32Array<ArrayBuffer> {
  const lengths = new Float32Array(DIMENSIONS)
  for (const [at, word] of text.split(/\s+/).entries()) lengths[at % DIMENSIONS]! += word.length
  const norm = Math.hypot(...lengths) || 1
  return lengths.map((length) => length / norm)
}

/** Finds nothing to object to. */
export const answerModeration = ({ model, input }: DemoBody): object => ({
  id: newId('modr'),
  model,
  results: inputsOf(input).map(() => ({ flagged: false, categories: {}, category_scores: {} })),
})

/** A list of numbers is one input: token ids. */
const inputsOf = (input: unknown): readonly unknown[] =>
  Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
