// Keeps the last bytes of an answer that is not scanned, and reads from them what the call used.
// Knows neither the API nor the type of the answer.

import { readUsage, type Usage } from '../../chat/token-usage.ts'
import { isObject, type JsonValue } from '../../core/json.ts'

/** Maximum bytes kept, up to one more piece. Usage is at the end of an answer, after its data. */
const MAXIMUM_TAIL_BYTES = 16 * 1024

/** Begins a member `usage` that is an object; in a text of JSON its quotes would be escaped. */
const USAGE = /"usage"\s*:\s*(?=\{)/g

export class AnswerTail {
  readonly #pieces: Buffer[] = []
  #bytes = 0

  /** The bytes must not change afterwards. */
  add(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#bytes += piece.length
    while (this.#bytes - this.#pieces[0]!.length >= MAXIMUM_TAIL_BYTES)
      this.#bytes -= this.#pieces.shift()!.length
  }

  /** Returns the last usage in the tail, of JSON or of an event stream; null without one. */
  usage(): Usage | null {
    const text = Buffer.concat(this.#pieces).subarray(-MAXIMUM_TAIL_BYTES).toString()
    const last = [...text.matchAll(USAGE)].at(-1)
    if (last === undefined) return null
    const value = parseObject(text, last.index + last[0].length)
    return isObject(value) ? readUsage({ usage: value }) : null
  }
}

/** Parses the JSON object that begins at `start`; null if it does not end or is not valid. */
function parseObject(text: string, start: number): JsonValue {
  let depth = 0
  let inString = false
  for (let at = start; at < text.length; at++) {
    const unit = text[at]
    if (inString) {
      if (unit === '\\') at++
      else if (unit === '"') inString = false
    } else if (unit === '"') inString = true
    else if (unit === '{') depth++
    else if (unit === '}' && --depth === 0) return parsed(text.slice(start, at + 1))
  }
  return null
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return null
  }
}
