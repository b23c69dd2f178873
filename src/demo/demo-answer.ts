// What the stand-in says, before it is written in the form of an API.

import { type CalledFunction, chooseCalls, type OfferedTools } from './tool-calls.ts'

/** An answer in the form of an API: whole, and as events; none for an API without streams. */
export interface DemoAnswer {
  readonly whole: object
  readonly events: readonly string[]
}

/** What the stand-in reads of a request. */
export interface DemoPrompt {
  /** The last text of the user. */
  readonly text: string
  /** Results of tools, if the request ends in some. */
  readonly results: readonly string[]
  readonly tools: OfferedTools
}

/** A text, or calls of tools without one. */
export interface DemoReply {
  readonly text: string | null
  readonly calls: readonly CalledFunction[]
}

/**
 * Quotes the prompt, which shows what left the gateway, or calls tools. Quotes the results of tools
 * if there are some, so that a client's loop ends.
 */
export function replyTo({ text, results, tools }: DemoPrompt): DemoReply {
  if (results.length > 0) {
    const quoted = results.map((result) => `«${result}»`).join(', ')
    return { text: `This is what the tools gave me: ${quoted}.`, calls: [] }
  }
  const calls = chooseCalls(tools, text)
  if (calls.length > 0) return { text: null, calls }
  const said = `This is what reached me: «${text}». If it should go to a person, write to support@example.com.`
  return { text: said, calls: [] }
}

/** Returns the text of a content: a string, or the texts of its parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = Array.isArray(content) ? content : []
  const texts = parts.flatMap((part) => (typeof part?.text === 'string' ? [part.text] : []))
  return texts.length > 0 ? texts.join(' ') : JSON.stringify(content ?? '')
}

/** Estimates four characters per token, about what providers count for English. */
export const countTokens = (value: unknown): number => Math.ceil((JSON.stringify(value) ?? '').length / 4)

/** The usage of an answer, in the form of chat completions. */
export function usageOf(prompt: unknown, answer: unknown) {
  const prompt_tokens = countTokens(prompt)
  const completion_tokens = countTokens(answer)
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
}

const PIECE_CHARACTERS = 5

/** Cuts a text as a stream does. */
export function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += PIECE_CHARACTERS) yield text.slice(at, at + PIECE_CHARACTERS)
}

/** Returns an id that no other answer has. */
export const newId = (prefix: string): string => `${prefix}_${process.hrtime.bigint()}`

export const nowSeconds = (): number => Math.floor(Date.now() / 1000)

export const dataEvent = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

/** An event named by its type. */
export const namedEvent = (type: string, members: object): string =>
  `event: ${type}\n${dataEvent({ type, ...members })}`
