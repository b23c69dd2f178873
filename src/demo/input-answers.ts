// Answers of the stand-in to inputs that get no text: embeddings and moderations.

import { countTokens, type DemoBody, newId, textOf } from './demo-answer.ts'

const DIMENSIONS = 64

/** Vectors of words, so that equal texts have equal vectors, and texts of like words near ones. */
export function answerEmbeddings({ model, input, encoding_format, part }: DemoBody): object {
  const data = inputsOf(input).map((one, index) => {
    const vector = vectorOf(textOf(one))
    const embedding =
      encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector]
    return { object: 'embedding', index, embedding }
  })
  const prompt_tokens = part?.tokens[0] ?? countTokens(input)
  return { object: 'list', data, model, usage: { prompt_tokens, total_tokens: prompt_tokens } }
}

function vectorOf(text: string): Float32Array<ArrayBuffer> {
  const sums = new Float32Array(DIMENSIONS)
  for (const word of text.split(/\s+/)) sums[digest(word) % DIMENSIONS]! += word.length
  const norm = Math.hypot(...sums) || 1
  return sums.map((sum) => sum / norm)
}

/** FNV-1a, 32 bits. */
function digest(word: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < word.length; at++) value = Math.imul(value ^ word.charCodeAt(at), 0x01000193)
  return value >>> 0
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
