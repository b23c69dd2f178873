// Remembers where a text changed, so that positions in it can be moved with it.

import type { ScanOutput } from './scan-output.ts'
import type { TextSpan } from './spans.ts'

/** A replaced part of a text, UTF-16 units. */
export interface TextEdit {
  /** Offset in the text as received. */
  readonly at: number
  /** Length as received. */
  readonly length: number
  /** Length as sent. */
  readonly written: number
  /** Length as logged. */
  readonly logged: number
}

/** The replaced parts of a growing text, in order. */
export class TextEdits {
  readonly edits: TextEdit[] = []
  /** Length of what was sent, as received. */
  length = 0

  /** Adds the next spans that are sent. */
  add(spans: readonly TextSpan[]): void {
    for (const { received, raw, logged = raw } of spans) {
      const length = received ?? raw.length
      if (received !== undefined)
        this.#add({ at: this.length, length, written: raw.length, logged: logged.length })
      this.length += length
    }
  }

  /** Adds an edit. One that only removes text is the rest of a value that the last one replaced. */
  #add(edit: TextEdit): void {
    const last = this.edits.at(-1)
    if (edit.written > 0 || last === undefined || last.at + last.length < edit.at) this.edits.push(edit)
    else this.edits[this.edits.length - 1] = { ...last, length: last.length + edit.length }
  }
}

/** The edits of a whole text. */
export function editsIn(spans: readonly TextSpan[]): readonly TextEdit[] {
  const all = new TextEdits()
  all.add(spans)
  return all.edits
}

/** Edits of a part of a text, counted from its beginning. @param from offset of the part */
export const editsFrom = (edits: readonly TextEdit[], from: number): readonly TextEdit[] =>
  from === 0 ? edits : edits.flatMap((edit) => (edit.at < from ? [] : [{ ...edit, at: edit.at - from }]))

/**
 * Moves an offset in the text as received to the same place in the text as sent. One inside a
 * replaced part moves to its beginning or, for an end, to its end.
 */
export function movedOffset(edits: readonly TextEdit[], offset: number, isEnd: boolean): number {
  let shift = 0
  for (const { at, length, written } of edits) {
    if (at >= offset) break
    if (at + length > offset) return at + shift + (isEnd ? written : 0)
    shift += written - length
  }
  return offset + shift
}

/**
 * Cuts what became of a text where the text as received is cut. A replaced part that crosses a cut
 * is written in the piece where it ends.
 * @param lengths of the pieces as received
 */
export function cutOutput(
  output: ScanOutput,
  edits: readonly TextEdit[],
  lengths: readonly number[],
): ScanOutput[] {
  const pieces: ScanOutput[] = []
  let next = 0
  let end = 0
  const shift = { sent: 0, logged: 0 }
  let from = { sent: 0, logged: 0 }
  for (const [index, length] of lengths.entries()) {
    end += length
    for (; next < edits.length && edits[next]!.at + edits[next]!.length <= end; next++) {
      const edit = edits[next]!
      shift.sent += edit.written - edit.length
      shift.logged += edit.logged - edit.length
    }
    const cut = Math.min(end, edits[next]?.at ?? end)
    const isLast = index === lengths.length - 1
    const to = isLast ? undefined : { sent: cut + shift.sent, logged: cut + shift.logged }
    pieces.push({
      sent: output.sent.slice(from.sent, to?.sent),
      logged: output.logged.slice(from.logged, to?.logged),
    })
    from = to ?? from
  }
  return pieces
}

/** The same edits, seen from the text as sent. */
export function inverted(edits: readonly TextEdit[]): TextEdit[] {
  let shift = 0
  return edits.map(({ at, length, written }) => {
    const seen = { at: at + shift, length: written, written: length, logged: length }
    shift += written - length
    return seen
  })
}
