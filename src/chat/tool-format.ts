// What the pipeline needs to know of the tools of an API: who calls them in a conversation, in an
// answer and in the events of a stream. Definitions are alike in all (tool-definitions.ts).

import type { JsonObject, JsonValue } from '../core/json.ts'
import type { ToolName } from '../core/tool-name.ts'

/** The tools of a conversation, as the messages of a request have them. */
export interface ToolHistory {
  /** Tools that earlier answers called. */
  readonly called: readonly ToolName[]
  /** Tools with a result; null for a result whose call is not in the request. */
  readonly results: readonly (ToolName | null)[]
}

export const NO_HISTORY: ToolHistory = { called: [], results: [] }

/** The arguments of a call as the model wrote them. */
export type WrittenArguments =
  /** JSON in a string. */
  | { readonly type: 'written'; readonly text: string }
  /** A text that is not meant to be JSON. */
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'value'; readonly value: JsonValue }

/** A call in an answer. */
export interface ToolCall {
  readonly tool: ToolName
  readonly given: WrittenArguments
}

/** What an event of a stream holds of one call. */
export interface CallPiece {
  /** Names the call among those of the stream. */
  readonly key: string
  /** The choice whose text the call ends; null where the end of a text is an event of its own. */
  readonly choice: number | null
  /** The tool, in an event that names it. */
  readonly tool: ToolName | null
  /** What it adds to the arguments. */
  readonly text: string
  /** Whether the arguments are a text that is not meant to be JSON. */
  readonly isText: boolean
  /** The whole call, in an event that has or repeats it. */
  readonly whole: ToolCall | null
  /** Whether the call ends here. */
  readonly ends: boolean
}

/** What an event of a stream holds of calls. */
export interface CallEvent {
  /** Calls that end before this event. */
  readonly ended: readonly string[]
  readonly pieces: readonly CallPiece[]
  /** Whether the event holds nothing but its only piece. */
  readonly isAlone: boolean
  /** Whether its pieces repeat calls of earlier events. */
  readonly isRepeat: boolean
}

/** Reads the calls in the events of one stream, in order. */
export interface CallReader {
  /** Reports whether an event may hold something of a call. Cheap; true where it is not known. */
  mayHold(data: string): boolean
  /** Reads an event; null for one without a call. */
  read(body: JsonObject): CallEvent | null
  /**
   * Splits an event: one event for each piece, and the event without them; null where nothing is
   * left of it. The rest comes first unless it ends a choice.
   */
  split(body: JsonObject): { readonly pieces: readonly JsonObject[]; readonly rest: JsonObject | null }
}

export interface ToolFormat {
  /** Reads the conversation of a request. */
  history(body: JsonObject): ToolHistory
  /** Lists the calls of a whole answer: of every choice and every output item. */
  calls(body: JsonObject): readonly ToolCall[]
  /** Begins to read the calls of a stream. */
  readCalls(): CallReader
}
