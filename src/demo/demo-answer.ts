// What the stand-in reads of a request and what it says, before an API gives it its form.

import { type CalledFunction, chooseCalls, type OfferedFunction, type ToolTerms } from './tool-calls.ts'

/** A message of a conversation, or another item of it. */
interface Turn {
  readonly type?: string
  readonly role?: string
  readonly content?: unknown
  readonly output?: unknown
}

/** What the stand-in is to say to a request, instead of quoting it. */
interface Part {
  readonly answer?: string
  readonly tokens: readonly [prompt: number, answer: number]
}

/** The members of a request that the stand-in reads, in any API. */
export interface DemoBody extends ToolTerms {
  /** Not of the request. */
  readonly part?: Part | null
  readonly model?: string
  readonly stream?: boolean
  readonly messages?: readonly Turn[]
  readonly system?: unknown
  readonly prompt?: unknown
  readonly input?: unknown
  readonly instructions?: string
  readonly encoding_format?: string
  readonly tools?: readonly (OfferedFunction & {
    readonly type?: string
    readonly function?: OfferedFunction
  })[]
}

/** A request in no API's form. */
interface DemoPrompt {
  /** What the user said last. */
  readonly said: unknown
  /** Results of tools, if the request ends in some. */
  readonly results?: readonly unknown[]
  readonly offered?: readonly OfferedFunction[]
  /** What counts as tokens. */
  readonly counted: unknown
}

/** A text, or calls of tools without one. */
export interface DemoReply {
  readonly text: string | null
  readonly calls: readonly CalledFunction[]
  readonly promptTokens: number
  readonly answerTokens: number
}

/**
 * Says its part, quotes the prompt, which shows what left the gateway, or calls tools. Quotes the
 * results of tools if there are some, so that a client's loop ends.
 */
export function replyTo(
  terms: Pick<DemoBody, keyof ToolTerms | 'part'>,
  { said, results = [], offered = [], counted }: DemoPrompt,
): DemoReply {
  const prompt = textOf(said)
  const calls = results.length > 0 ? [] : chooseCalls(offered, terms, prompt)
  const quoted = results.map((result) => `«${textOf(result)}»`).join(', ')
  const told =
    quoted === ''
      ? `This is what reached me: «${prompt}». If it should go to a person, write to support@example.com.`
      : `This is what the tools gave me: ${quoted}.`
  const text = calls.length > 0 ? null : (terms.part?.answer ?? told)
  const [promptTokens, answerTokens] = terms.part?.tokens ?? [
    countTokens(counted),
    countTokens(text ?? calls),
  ]
  return { text, calls, promptTokens, answerTokens }
}

/** Returns the content of the last message of the user. */
export const lastSaid = (turns: readonly Turn[]): unknown =>
  turns.findLast(({ role }) => role === 'user')?.content

/** Returns the turns after the last one that does not pass. */
export const turnsAtEnd = (turns: readonly Turn[], passes: (turn: Turn) => boolean): readonly Turn[] =>
  turns.slice(turns.findLastIndex((turn) => !passes(turn)) + 1)

/** Returns the text of a content: a string, or the texts of its parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = Array.isArray(content) ? content : []
  const texts = parts.flatMap((part) => (typeof part?.text === 'string' ? [part.text] : []))
  return texts.length > 0 ? texts.join(' ') : JSON.stringify(content ?? '')
}

/** Estimates four characters per token, about what providers count for English. */
export const countTokens = (value: unknown): number => Math.ceil((JSON.stringify(value) ?? '').length / 4)

/** Returns an id that no other answer has. */
export const newId = (prefix: string): string => `${prefix}_${process.hrtime.bigint()}`

export const nowSeconds = (): number => Math.floor(Date.now() / 1000)
