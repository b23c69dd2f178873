// Finds the boundaries of texts that no event marks: reasoning ends where the answer begins, and
// the answer ends where a tool call begins. Knows no scans.

import { type Channel, isReasoning, isSequential, isToolCall } from '../../chat/channel.ts'
import type { Delta, StreamChunk } from '../../chat/stream-chunk.ts'

/**
 * Returns the last delta of each text that ends in this chunk: with its choice, before a tool call,
 * or by a signature.
 */
export function finalDeltas(
  { deltas, signed }: StreamChunk,
  finished: readonly number[],
  starting: readonly Delta[],
): ReadonlySet<Delta> {
  if (finished.length + starting.length + signed.length === 0) return NO_DELTAS
  const ending = new Set(finished)
  const signing = new Set(signed)
  const calling = new Set(starting.filter(({ channel }) => isToolCall(channel)).map(({ choice }) => choice))
  const final = deltas.filter(
    ({ choice, channel }) =>
      ending.has(choice) ||
      (calling.has(choice) && !isToolCall(channel)) ||
      (signing.has(choice) && isReasoning(channel)),
  )
  return new Set(new Map(final.map((delta) => [textName(delta.choice, delta.channel), delta])).values())
}

const NO_DELTAS: ReadonlySet<Delta> = new Set()

/** Identifies a text within an answer. */
const textName = (choice: number, channel: Channel): string => `${choice} ${channel}`

/** Reports whether a text belongs to a set. */
export type IsText = (choice: number, channel: Channel) => boolean

/** Returns a test for the texts that have a delta in the chunk. */
export function growsIn({ deltas }: StreamChunk): IsText {
  const names = new Set(deltas.map(({ choice, channel }) => textName(choice, channel)))
  return (choice, channel) => names.has(textName(choice, channel))
}

/** Returns the part of a text in the chunk. */
export const textIn =
  ({ deltas }: StreamChunk) =>
  (choice: number, channel: Channel): string =>
    deltas.flatMap((one) => (one.choice === choice && one.channel === channel ? one.text : [])).join('')

/**
 * Reports whether a delta is the first of a text that ends those before it.
 * @param texts of its choice so far, by channel
 */
export const beginsNextText = (
  { channel }: Delta,
  texts: ReadonlyMap<string, unknown> | undefined,
): boolean => texts !== undefined && !texts.has(channel) && isSequential(channel)
