// Finds the documents of a request of Messages, and the citations of an answer that name positions
// in them (https://docs.anthropic.com/en/docs/build-with-claude/citations).

import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { formatPath } from '../json-path.ts'

type Path = readonly (string | number)[]

/**
 * Lists the paths of the texts of all documents in a request, in the order in which citations count
 * the documents. A document without a text has a path that no text has.
 */
export function documentPaths({ messages }: JsonObject): string[] {
  const paths: string[] = []
  const list = (content: JsonValue | undefined, path: Path): void => {
    if (!Array.isArray(content)) return
    for (const [index, block] of content.entries()) {
      if (!isObject(block)) continue
      const at = [...path, index]
      if (block['type'] === 'document') paths.push(formatPath([...at, 'source', 'data']))
      // A tool may answer with documents; a document has no other inside.
      else if (block['type'] === 'tool_result') list(block['content'], [...at, 'content'])
    }
  }
  for (const [index, message] of Array.isArray(messages) ? messages.entries() : [])
    if (isObject(message)) list(message['content'], ['messages', index, 'content'])
  return paths
}

/** Reports whether a text is that of a document, by its path. */
export const isDocumentPath = (path: string): boolean => path.endsWith('.source.data')

/** Moves an offset in a document. */
export type MoveInDocument = (document: number, offset: number, isEnd: boolean) => number

/**
 * Moves the positions of the citations in a whole answer or an event.
 * @returns whether there were any
 */
export function moveDocumentCitations(
  { content, delta, content_block: block }: JsonObject,
  move: MoveInDocument,
): boolean {
  const blocks = [...(Array.isArray(content) ? content : []), block ?? null]
  const citations = blocks.flatMap((one) => (isObject(one) ? (one['citations'] ?? []) : []))
  const added = isObject(delta) ? [delta['citation'] ?? null] : []
  let moved = false
  for (const citation of [...citations, ...added]) {
    if (!isObject(citation) || citation['type'] !== 'char_location') continue
    const { document_index: document, start_char_index: start, end_char_index: end } = citation
    if (typeof document !== 'number' || typeof start !== 'number' || typeof end !== 'number') continue
    citation['start_char_index'] = move(document, start, false)
    citation['end_char_index'] = move(document, end, true)
    moved = true
  }
  return moved
}
