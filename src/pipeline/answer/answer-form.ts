// Finds out by its first bytes whether an answer is a stream or whole. Servers and proxies write
// any content type.

import type { UpstreamResponse } from '../../upstream/response.ts'

export type AnswerForm = 'stream' | 'whole' | 'empty' | 'unknown'

/** Longest start without a first character, bytes. Servers send blank lines while they work. */
const MAXIMUM_BLANK_BYTES = 4096

/** A UTF-8 byte order mark, one character a byte. */
const MARK = '\u00ef\u00bb\u00bf'
const BLANK = /^(?:\u00ef\u00bb\u00bf)?[\t\n\r ]*/
/** The first line of a stream: a comment or a field (WHATWG HTML §9.2.6). */
const FIRST_LINE = /^(?::|(?:data|event|id|retry)[:\r\n])/
const FIELDS = ['data:', 'event:', 'id:', 'retry:'] as const

/** An answer whose form is known. */
export interface FormedAnswer {
  readonly form: AnswerForm
  /** The answer, from its first character that is not blank. */
  readonly response: UpstreamResponse
}

/**
 * Reads an answer until its form is known, and no further.
 * @throws GatewayError `upstream_*` when it breaks off before
 */
export async function readForm(response: UpstreamResponse): Promise<FormedAnswer> {
  let start: Buffer = Buffer.alloc(0)
  for (;;) {
    const piece = await response.read()
    if (piece !== null) start = start.length === 0 ? piece : Buffer.concat([start, piece])
    const head = start.toString('latin1', 0, MAXIMUM_BLANK_BYTES)
    const blank = BLANK.exec(head)![0].length
    const isLast = piece === null || start.length >= MAXIMUM_BLANK_BYTES
    const form = formOf(head.slice(blank), isLast)
    if (form !== null) return { form, response: resumed(response, [start.subarray(blank)]) }
  }
}

/** @param isLast whether no more bytes are read to know the form; without it, null asks for more */
function formOf(text: string, isLast: boolean): AnswerForm | null {
  if (/^[{[]/.test(text)) return 'whole'
  if (FIRST_LINE.test(text)) return 'stream'
  if (isLast) return text === '' ? 'empty' : 'unknown'
  return [MARK, ...FIELDS].some((start) => start.startsWith(text)) ? null : 'unknown'
}

/**
 * An answer that reads these pieces, one at a time, and then the rest of the response. An abort
 * drops the pieces that are left.
 */
export function resumed(response: UpstreamResponse, start: Iterable<Buffer>): UpstreamResponse {
  const { status, headers, credential } = response
  let pieces: Iterator<Buffer> | null = start[Symbol.iterator]()
  return {
    status,
    headers,
    credential,
    read() {
      const next = pieces?.next()
      if (next?.done === false) return Promise.resolve(next.value)
      pieces = null
      return response.read()
    },
    abort() {
      pieces = null
      response.abort()
    },
    discard() {
      pieces = null
      response.discard()
    },
  }
}
