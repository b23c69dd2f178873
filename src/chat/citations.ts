// Finds the citations of answers that name positions in the text of their part: `url_citation` of
// chat completions and of the Responses API.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { formatPath } from './json-path.ts'
import { MAXIMUM_DEPTH } from './strict-json.ts'

/** Members of a citation that are offsets in its text. */
const POSITIONS = ['start_index', 'end_index'] as const

/** Moves the offsets of citations. @param move returns the new offset */
export function moveCitations(
  citations: JsonValue | undefined,
  move: (offset: number, isEnd: boolean) => number,
): void {
  if (!Array.isArray(citations)) return
  for (const citation of citations) {
    if (!isObject(citation)) continue
    // Chat completions have them one level below, Responses do not.
    for (const places of [citation, citation['url_citation']]) {
      if (!isObject(places)) continue
      for (const name of POSITIONS) {
        const offset = places[name]
        if (typeof offset === 'number') places[name] = move(offset, name === 'end_index')
      }
    }
  }
}

/** Returns the end of the text that the last of the citations cites. */
export function endOfCitations(citations: JsonValue): number {
  let end = 0
  moveCitations(citations, (offset) => {
    end = Math.max(end, offset)
    return offset
  })
  return end
}

/** Citations, and the path of the text that they cite from. */
export interface CitedText {
  readonly path: string
  readonly citations: JsonValue
}

/** Members that hold the text which the `annotations` of their object cite. */
const TEXTS = ['text', 'content'] as const

/** Yields the lists of citations in an answer or an event. */
export function* citedTexts(body: JsonObject): Generator<CitedText> {
  const open: [value: JsonObject | JsonValue[], path: (string | number)[]][] = [[body, []]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, path] = next
    if (isObject(value) && Array.isArray(value['annotations'])) {
      const text = TEXTS.find((name) => typeof value[name] === 'string')
      if (text !== undefined) yield { path: formatPath([...path, text]), citations: value['annotations'] }
    }
    if (path.length >= MAXIMUM_DEPTH) continue
    for (const [key, below] of Array.isArray(value) ? value.entries() : Object.entries(value))
      if (typeof below === 'object' && below !== null) open.push([below as JsonObject, [...path, key]])
  }
}
