// Moves the positions of citations with the text that they cite from.

import { citedTexts, moveCitations } from '../../chat/citations.ts'
import { documentPaths, moveDocumentCitations } from '../../chat/messages/document-citations.ts'
import type { StreamChunk } from '../../chat/stream-chunk.ts'
import type { Text } from '../../chat/texts.ts'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { editsFrom, inverted, movedOffset, type TextEdit } from '../scan/text-edits.ts'

/** Where the documents of a prompt changed, in their order, counted as the provider has them. */
export type DocumentEdits = readonly (readonly TextEdit[])[]

/** Returns the edits of the documents of a request; none when no document changed. */
export const documentEditsOf = (
  body: JsonObject,
  edits: ReadonlyMap<string, readonly TextEdit[]>,
): DocumentEdits =>
  edits.size === 0 ? [] : documentPaths(body).map((path) => inverted(edits.get(path) ?? []))

/**
 * Moves citations from the documents that the provider has to those of the client, in an answer or
 * an event. @returns whether any was
 */
export const moveInDocuments = (body: JsonObject, documents: DocumentEdits): boolean =>
  documents.length > 0 &&
  moveDocumentCitations(body, (document, offset, isEnd) =>
    movedOffset(documents[document] ?? [], offset, isEnd),
  )

/** The edits of texts, by their paths. */
export type EditsByPath = Map<string, readonly TextEdit[]>

/** Moves the citations of texts that grow. @returns whether any was */
export function moveGrowingCitations(
  { cited = [] }: StreamChunk,
  editsOf: (choice: number, channel: string) => readonly TextEdit[],
): boolean {
  let moved = false
  for (const { choice, channel, citations } of cited) {
    const edits = editsOf(choice, channel)
    if (edits.length === 0) continue
    moveBy(edits, citations)
    moved = true
  }
  return moved
}

const moveBy = (edits: readonly TextEdit[], citations: JsonValue): void =>
  moveCitations(citations, (offset, isEnd) => movedOffset(edits, offset, isEnd))

/** Adds the edits of a text to those of each of its parts. */
export function keepEdits(kept: EditsByPath, parts: readonly Text[], edits: readonly TextEdit[]): void {
  let from = 0
  for (const { path, text } of parts) {
    kept.set(path, editsFrom(edits, from))
    from += text.length
  }
}

/** Moves the citations of texts that changed, in an answer or an event. @returns whether any was */
export function moveCitationsIn(body: JsonObject, edits: EditsByPath): boolean {
  if (edits.size === 0) return false
  // The last event of a response holds it whole, and its texts have the paths of a whole answer.
  const { response } = body
  let moved = false
  for (const { path, citations } of citedTexts(isObject(response) ? response : body)) {
    const own = edits.get(path)
    if (own === undefined) continue
    moveBy(own, citations)
    moved = true
  }
  return moved
}
