// Writes the chunks of completions, whose choices have a `text` and no delta.

import { isObject, type JsonObject } from '../core/json.ts'
import { Assembler } from './assembler.ts'
import type { ChannelText } from './channel.ts'
import { finishChunk, flushChunk } from './channel.ts'
import { ChatStream } from './chat-stream.ts'
import { DONE, encodeData } from './sse.ts'

export class CompletionsStream extends ChatStream {
  constructor(readsNumbers = false) {
    super(false, readsNumbers, new Assembler('text_completion'))
  }

  override flush(like: JsonObject, choice: number, pieces: readonly ChannelText[]): JsonObject {
    return withoutDeltas(flushChunk(like, choice, pieces))
  }

  override end(like: JsonObject, choice: number, reason: string): JsonObject {
    return withoutDeltas(finishChunk(like, choice, reason))
  }
}

/** The events whose clients join them into the answer; each text is one. */
export function* completionEvents({ choices, usage, ...others }: JsonObject): Generator<string> {
  for (const choice of Array.isArray(choices) ? choices : [])
    yield encodeData(JSON.stringify({ ...others, choices: [choice] }))
  if (usage !== undefined) yield encodeData(JSON.stringify({ ...others, choices: [], usage }))
  yield encodeData(DONE)
}

/** Clients add up the texts of the choices, so that each needs one. */
function withoutDeltas(chunk: JsonObject): JsonObject {
  const { choices } = chunk
  for (const choice of Array.isArray(choices) ? choices : []) {
    if (!isObject(choice)) continue
    delete choice['delta']
    choice['text'] ??= ''
  }
  return chunk
}
