// Writes an answer of the stand-in as a stream: the events into which the gateway's own description
// of the API splits it, with the texts in pieces as a model writes them.

import type { Api, StreamReader } from '../chat/api-format.ts'
import { encodeEvent } from '../chat/sse.ts'
import type { StreamChunk } from '../chat/stream-chunk.ts'
import type { JsonObject } from '../core/json.ts'

const PIECES = /.{1,5}/gsu
const DATA = /^data: (.+)$/m

/** Returns the events of a streamed answer; none for an API without streams. */
export function* streamEvents(api: Api, answer: JsonObject): Generator<string> {
  const reader = api.readStream(false)
  for (const event of api.answer.toEvents(answer)) {
    const chunk = reader.read(DATA.exec(event)?.[1] ?? '')
    if (chunk === null) yield event
    else
      for (const body of inPieces(reader, chunk)) {
        reader.number(body)
        yield encodeEvent(reader.eventLine(body), JSON.stringify(body))
      }
  }
}

/** Cuts the texts of a chunk into pieces. What begins a text comes first, and what ends it last. */
function inPieces(reader: StreamReader, { body, deltas, finished }: StreamChunk): JsonObject[] {
  const growing = deltas.filter(({ whole }) => !whole)
  const pieces = growing.flatMap(({ choice, channel, text }) =>
    (text.match(PIECES) ?? []).map((piece) => reader.flush(body, choice, [[channel, piece]])),
  )
  for (const text of growing) text.replace('')
  const rest = pieces.length > 0 && reader.isEmpty(body) ? [] : [body]
  return finished.length > 0 ? [...pieces, ...rest] : [...rest, ...pieces]
}
