// Holds released text in two forms: as sent to the client, with restored values, and as logged,
// with placeholders. The forms differ in nothing else.

import type { AnswerFormat, StreamReader } from '../../chat/api-format.ts'
import type { Delta, StreamChunk } from '../../chat/stream-chunk.ts'
import type { Text } from '../../chat/texts.ts'
import type { JsonObject } from '../../core/json.ts'

/** A released part of one text. */
export interface ScanOutput {
  readonly sent: string
  readonly logged: string
}

export const NO_OUTPUT: ScanOutput = { sent: '', logged: '' }

export const joinOutputs = (one: ScanOutput, next: ScanOutput): ScanOutput => ({
  sent: one.sent + next.sent,
  logged: one.logged + next.logged,
})

/** Reports whether a value was restored. */
export const isRestored = (outputs: readonly ScanOutput[]): boolean =>
  outputs.some(({ sent, logged }) => sent !== logged)

/** Writes one form of the outputs into their texts. @returns whether any text changed */
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
 * Returns a whole answer in its logged form.
 * @param body parsed anew from the same bytes, so that it has the same texts in the same order
 * @param readsNumbers as for those texts
 */
export function loggedBody(
  format: AnswerFormat,
  body: JsonObject,
  outputs: readonly ScanOutput[],
  readsNumbers: boolean,
): JsonObject {
  const walk = format.texts(body, readsNumbers)
  replaceTexts(walk.texts, outputs, 'logged')
  walk.commit()
  format.dropProbabilities(body)
  return body
}

/**
 * Returns a chunk in its logged form: its own body unless a value was restored.
 * @param data parsed anew, for the same texts in the same order
 */
export function loggedChunk(
  { answer, reader }: { readonly answer: AnswerFormat; readonly reader: StreamReader },
  chunk: StreamChunk,
  data: string,
  others: readonly ScanOutput[],
  deltas: readonly ScanOutput[],
): JsonObject {
  const anew = isRestored(others) || isRestored(deltas) ? reader.read(data) : null
  if (anew === null) return chunk.body
  replaceTexts(anew.others, others, 'logged')
  replaceTexts(anew.deltas, deltas, 'logged')
  anew.commit()
  answer.dropProbabilities(anew.body)
  return anew.body
}

const NO_DELTAS: ReadonlySet<Delta> = new Set()

/**
 * Returns the deltas below a member whose name changes. They may be released in their own chunk
 * only: an event of their own would repeat the old name.
 */
export function deltasUnderNewNames(
  { others, deltas }: StreamChunk,
  outputs: readonly ScanOutput[],
): ReadonlySet<Delta> {
  if (others.length === 0) return NO_DELTAS
  const renamed = new Set(others.filter(({ text }, index) => outputs[index]?.sent !== text))
  return new Set(deltas.filter(({ names }) => names.some((name) => renamed.has(name))))
}
