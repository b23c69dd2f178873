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

/** A result, in an answer, of a tool that the provider ran. */
export interface ToolResult {
  /** Null where the answer does not name it. */
  readonly tool: ToolName | null
  /** What the model read of it, as far as the answer shows it. */
  readonly value: JsonValue
}

/** A call in an answer. */
export interface ToolCall {
  readonly tool: ToolName
  readonly given: WrittenArguments
  /** Results in the answer between the call before this one and this one. */
  readonly after: readonly ToolResult[]
}

/**
 * What an event of a stream holds of one call. Clients join the pieces of a key in their own ways:
 * a further name replaces the first, is joined to it, or begins another call.
 */
export interface CallPiece extends Pick<ToolCall, 'after'> {
  /** Names the call among those of the stream. */
  readonly key: string
  /** The choice whose text the call ends; null where the end of a text is an event of its own. */
  readonly choice: number | null
  /** The tools that it names: none in most pieces, two where clients read one name or the other. */
  readonly tools: readonly ToolName[]
  /** Whether some clients give the names to another call of the stream. */
  readonly isStray: boolean
  /** What it adds to the arguments. */
  readonly text: string
  /** Whether the arguments are a text that is not meant to be JSON. */
  readonly isText: boolean
  /**
   * Whether some clients begin new arguments here, and others join them to those before.
   * `call` when they begin a further call.
   */
  readonly begins: 'call' | 'arguments' | null
  /** The arguments alone, in an event that has or repeats all of them. */
  readonly whole: WrittenArguments | null
  /** Whether the call ends here. */
  readonly ends: boolean
}

/** A piece that adds nothing, for events that hold a part of one. */
export const EMPTY_PIECE = {
  after: [],
  choice: null,
  tools: [],
  isStray: false,
  text: '',
  isText: false,
  begins: null,
  whole: null,
  ends: false,
} as const satisfies Omit<CallPiece, 'key'>

/** What an event of a stream holds of tools. */
export interface CallEvent {
  /** Calls that end before this event. */
  readonly ended: readonly string[]
  /** Calls that the stream has left before this event: they end if their arguments are complete. */
  readonly left: readonly string[]
  readonly pieces: readonly CallPiece[]
  /** Results after the last piece. */
  readonly results: readonly ToolResult[]
  /** Whether the event holds nothing but its only piece. */
  readonly isAlone: boolean
  /** Whether clients give arguments to different calls, from this event on. */
  readonly isUnclear: boolean
}

/** An event that holds nothing, for those that hold a part of one. */
export const EMPTY_EVENT = {
  ended: [],
  left: [],
  pieces: [],
  results: [],
  isAlone: true,
  isUnclear: false,
} as const satisfies CallEvent

/** Reads the calls in the events of one stream, in order. */
export interface CallReader {
  /** Reports whether an event may hold something of a call. Cheap; true where it is not known. */
  mayHold(data: string): boolean
  /**
   * Reads an event; null for one without a call or a result.
   * @throws GatewayError `upstream_unavailable` for calls that no two clients read alike
   */
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
