// What leaves of an answer, in its two forms: as the client gets it, values put back, and as the log keeps it, with
// placeholders. The two differ in nothing else. Does not know how either form came about.

import { type Delta, readStreamChunk, type StreamChunk } from '../../chat/stream-chunk.ts'
import { dropLogprobs, responseTexts, type Text } from '../../chat/texts.ts'
import type { JsonObject } from '../../core/json.ts'

/** A stretch of one text. */
export interface ScanOutput {
  /** For the client. */
  readonly sent: string
  /** For the log. */
  readonly logged: string
}

export const NO_OUTPUT: ScanOutput = { sent: '', logged: '' }

export const joinOutputs = (one: ScanOutput, next: ScanOutput): ScanOutput => ({
  sent: one.sent + next.sent,
  logged: one.logged + next.logged,
})

/** Whether a value was put back in one of them. */
export const isRestored = (outputs: readonly ScanOutput[]): boolean =>
  outputs.some(({ sent, logged }) => sent !== logged)

/** Puts one form of the outputs in the places of the texts they came from; returns whether that changed any. */
export function replaceTexts(
  texts: readonly (Delta | Text)[],
  outputs: readonly ScanOutput[],
  form: keyof ScanOutput,
): boolean {
  let changed = false
  texts.forEach((text, index) => {
    const replacement = outputs[index]?.[form] ?? ''
    if (replacement === text.text) return
    text.replace(replacement)
    changed = true
  })
  return changed
}

/**
 * A whole answer as it is kept.
 * @param body read anew, so that the walk meets the same texts in the same order
 */
export function loggedBody(body: JsonObject, outputs: readonly ScanOutput[]): JsonObject {
  const walk = responseTexts(body)
  replaceTexts(walk.texts, outputs, 'logged')
  walk.commit()
  dropLogprobs(body)
  return body
}

/**
 * A chunk as it is kept: `chunk` itself when no value was put back in it.
 * @param data it was read from, to be read anew: the same texts are met in the same order
 */
export function loggedChunk(
  chunk: StreamChunk,
  data: string,
  others: readonly ScanOutput[],
  deltas: readonly ScanOutput[],
): JsonObject {
  const anew = isRestored(others) || isRestored(deltas) ? readStreamChunk(data) : null
  if (anew === null) return chunk.body
  replaceTexts(anew.others, others, 'logged')
  replaceTexts(anew.deltas, deltas, 'logged')
  anew.commit()
  dropLogprobs(anew.body)
  return anew.body
}

const NO_PIECES: ReadonlySet<Delta> = new Set()

/** Pieces around which a name changes. They can leave in their place and nowhere else, where it would be as it came. */
export function deltasUnderNewNames(
  { others, deltas }: StreamChunk,
  outputs: readonly ScanOutput[],
): ReadonlySet<Delta> {
  if (others.length === 0) return NO_PIECES
  const renamed = new Set(others.filter(({ text }, index) => outputs[index]?.sent !== text))
  return new Set(deltas.filter(({ names }) => names.some((name) => renamed.has(name))))
}
