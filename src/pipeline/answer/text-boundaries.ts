// Which texts of a stream a chunk goes on with, and which end with it, although nothing says so: what a model thought
// where it answers, and what it said where it calls a tool. Knows no scans.

import { type Channel, isReasoning, isSequential, isToolCall } from '../../chat/channel.ts'
import type { Delta, StreamChunk } from '../../chat/stream-chunk.ts'

/** The last piece of each text that ends with a chunk: with its choice, before a tool is called, or signed. */
export function finalPieces(
  { deltas, signed }: StreamChunk,
  finished: readonly number[],
  starting: readonly Delta[],
): ReadonlySet<Delta> {
  if (finished.length + starting.length + signed.length === 0) return NO_PIECES
  const ending = new Set(finished)
  const signing = new Set(signed)
  const calling = new Set(starting.filter(({ channel }) => isToolCall(channel)).map(({ choice }) => choice))
  const pieces = deltas.filter(
    ({ choice, channel }) =>
      ending.has(choice) ||
      (calling.has(choice) && !isToolCall(channel)) ||
      (signing.has(choice) && isReasoning(channel)),
  )
  return new Set(new Map(pieces.map((piece) => [textName(piece.choice, piece.channel), piece])).values())
}

const NO_PIECES: ReadonlySet<Delta> = new Set()

/** Tells a text from all others of an answer. */
const textName = (choice: number, channel: Channel): string => `${choice} ${channel}`

/** Says of a text whether it is one of some. */
export type IsText = (choice: number, channel: Channel) => boolean

/** Whether a chunk has a piece of a text. */
export function growsIn({ deltas }: StreamChunk): IsText {
  const names = new Set(deltas.map(({ choice, channel }) => textName(choice, channel)))
  return (choice, channel) => names.has(textName(choice, channel))
}

/** All that a chunk has of a text. */
export const textIn =
  ({ deltas }: StreamChunk) =>
  (choice: number, channel: Channel): string =>
    deltas.flatMap((one) => (one.choice === choice && one.channel === channel ? one.text : [])).join('')

/**
 * Whether a piece is the first of a text that callers take for the end of those before it.
 * @param texts of its choice so far, by channel
 */
export const beginsNextText = (
  { channel }: Delta,
  texts: ReadonlyMap<string, unknown> | undefined,
): boolean => texts !== undefined && !texts.has(channel) && isSequential(channel)
