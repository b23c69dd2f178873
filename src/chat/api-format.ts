// The interface of an API that the gateway serves. Everything that the pipeline needs to know of a
// wire format is here; src/README.md shows how to add one.

import type { GatewayError, RefusalStatus } from '../core/errors.ts'
import type { JsonObject, JsonValue } from '../core/json.ts'
import type { Steps } from '../core/steps.ts'
import type { ApiFamily, StreamUsage } from '../core/upstream-config.ts'
import type { AnswerText } from './answer-texts.ts'
import type { ChannelText } from './channel.ts'
import type { ModelRequest } from './model-request.ts'
import type { StoredFormat } from './stored-format.ts'
import type { StreamChunk } from './stream-chunk.ts'
import type { Text, Texts } from './texts.ts'
import type { ProgressOf } from './token-probabilities.ts'
import type { Usage } from './token-usage.ts'
import type { ToolFormat } from './tool-format.ts'

/** What the description of the gateway's API says of an API. */
export interface ApiDocument {
  /** A sentence. */
  readonly summary: string
  /** Schema of its request bodies, by a name that other APIs may share. */
  readonly request: { readonly name: string; readonly schema: JsonObject }
}

export interface Api {
  /** As entries and metrics have it. */
  readonly name: string
  readonly document: ApiDocument
  /** Upstreams that serve it. */
  readonly family: ApiFamily
  /** Path below the upstream's base URL. */
  readonly target: string
  /** False when a call uses no tokens, because the provider charges none. */
  readonly usesTokens: boolean
  /** Headers that upstreams need and clients may leave out. */
  readonly headers: Readonly<Record<string, string>>
  readonly errors: ErrorShape
  readonly answer: AnswerFormat
  /** Calls of tools, for an API whose answers have such. */
  readonly tools?: ToolFormat
  /** Answers that the provider keeps, for an API that has such. */
  readonly stored?: StoredFormat
  /** Whether the provider serves kept answers, of any key, below the path of the API. */
  readonly keepsAnswers?: true
  /**
   * Checks a parsed body.
   * @throws GatewayError `missing_required_parameter` or `invalid_body`; `param` names the field
   */
  readRequest(body: JsonValue): ModelRequest
  /**
   * Lists the texts that a model reads, in steps.
   * @param readsNumbers whether numbers of less than seven digits are texts; default: no
   * @throws GatewayError `invalid_body` for a body that is too deep or has too many texts
   */
  requestTexts(body: JsonObject, readsNumbers?: boolean): Steps<Texts>
  estimatePromptTokens(body: JsonObject): number
  /**
   * Returns the bodies to send upstream, in order: the next one is for an upstream that refuses the
   * one before.
   * @param json the redacted body, serialised
   */
  upstreamBodies(request: ModelRequest, json: Buffer, usage: StreamUsage): readonly [Buffer, ...Buffer[]]
  /**
   * Begins to read a stream.
   * @param asksForJson whether the answer's text is JSON
   * @param readsNumbers as in `requestTexts`
   */
  readStream(asksForJson: boolean, readsNumbers?: boolean): StreamReader
}

/** How errors of the gateway are written, so that the API's own clients read them. */
export interface ErrorShape {
  /** Status of a refusal by a rule. */
  readonly refusalStatus: RefusalStatus
  /** The body of an error response, JSON. */
  body(error: GatewayError): string
  /**
   * The event that ends a failed stream; in some formats two.
   * @param number of the first one, in a format whose events are numbered
   */
  event(error: GatewayError, number: number): string
  /** The upstream's failure as a body. @param own members of the upstream's own error */
  failure(own: JsonObject, message: string, status: number): JsonObject
  /** The status that providers give an error of this code or type; null for any other. */
  statusOf(own: JsonObject): number | null
  /** The upstream's error event in the form of the API; itself when it has that form. */
  reported(body: JsonObject): JsonObject
}

/** An answer that is not streamed. */
export interface AnswerFormat {
  /**
   * Lists the texts of an answer or an upstream's error.
   * @param readsNumbers as in `requestTexts`
   * @throws GatewayError `upstream_unavailable` for one that is too deep or has too many texts
   */
  texts(body: JsonObject, readsNumbers?: boolean): Texts
  /**
   * Groups texts as a client reads them, in steps. @param asksForJson whether the answer's text is
   * JSON
   */
  group(texts: readonly Text[], asksForJson: boolean): Steps<AnswerText[]>
  /** Reports whether a body has an answer, with or without an error. */
  isAnswer(body: JsonObject): boolean
  /** The events of a stream whose clients join them into the answer. */
  toEvents(body: JsonObject): Iterable<string>
  /** Drops token probabilities and token ids, which repeat the text. */
  dropProbabilities(body: JsonObject): void
  /** The usage that the upstream reports; null without any. */
  usage(body: JsonObject): Usage | null
  /** Why the answer ended; null when it does not say. */
  finishReason(body: JsonObject): string | null
}

/** Reads the events of one stream, and writes new ones of the same form. */
export interface StreamReader {
  /** The logged answer so far. */
  readonly assembler: StreamAssembler
  /** Signed reasoning so far, as the provider wrote it. */
  readonly thoughts: readonly SignedText[]
  /** The event after every answer; null where the last event is part of the answer. */
  readonly closing: string | null
  /** True while token probabilities wait for their text. */
  readonly holdsProbabilities: boolean
  /**
   * Reads the data of an event; null when it is not a JSON object.
   * @throws GatewayError `upstream_unavailable` for an event that is too deep or has too many texts
   */
  read(data: string): StreamChunk | null
  /** Takes note of a chunk that is relayed, once. */
  note(chunk: JsonObject): void
  /** Builds a chunk with texts of one choice only. @param like a chunk of the same stream */
  flush(like: JsonObject, choice: number, pieces: readonly ChannelText[]): JsonObject
  /** Builds a chunk that ends a choice and has nothing else. */
  end(like: JsonObject, choice: number, reason: string): JsonObject
  /**
   * How a chunk differs from others of its text; null when in more than the text and members that
   * vary.
   */
  repeats(chunk: StreamChunk): RepeatedForm | null
  /** Reports whether a chunk of which no text is left holds nothing worth sending. */
  isEmpty(chunk: JsonObject): boolean
  /** The `event` line of a chunk; '' for a format without one. */
  eventLine(chunk: JsonObject): string
  /**
   * Removes token probabilities that say more of a text than was sent.
   * @param here the part of a text in this chunk
   * @param finished choices that end with this chunk
   * @returns whether the chunk changed
   */
  releaseProbabilities(
    chunk: JsonObject,
    progress: ProgressOf,
    here: (choice: number, channel: string) => string,
    finished: readonly number[],
  ): boolean
  /** Updates what counts the events that are sent. @returns whether the chunk changed */
  number(chunk: JsonObject): boolean
  /** The number of the next event; 0 in a format without numbers. */
  readonly nextNumber: number
}

/** The form that the events of one text share. */
export interface RepeatedForm {
  /** True when an event of this form holds nothing but its text. */
  readonly isDroppable: boolean
  /** Members of the event that vary: numbers count events, labels are padding. */
  readonly varying: readonly string[]
}

/** A signed text, and the choice that holds it. */
export interface SignedText {
  readonly choice: number
  readonly signature: string
  readonly text: string
}

/** Builds one answer from the chunks of a stream. */
export interface StreamAssembler {
  /** Adds a chunk. @throws GatewayError `upstream_unavailable` for an answer that is too long */
  add(chunk: JsonObject): void
  /**
   * Adds to one text; the same as `add` of a chunk with this delta alone.
   * @returns false, without a change, when the text has not begun
   * @throws GatewayError as `add`
   */
  grow(choice: number, channel: string, text: string): boolean
  readonly finishReason: string | null
  /** Size of the answer; its memory is one to two bytes for each. */
  readonly characters: number
  /** True once the answer has begun. */
  readonly begun: boolean
  /** True when the answer is whole. */
  readonly complete: boolean
  /** The answer so far, in the shape of an answer that was not streamed. */
  result(): JsonObject
}
