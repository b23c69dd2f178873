// Removes the upstream's credential from everything an upstream sends. Some upstreams quote the
// request in their errors.

import type { JsonSpan } from '../../chat/inner-json/json-span.ts'
import { parseReceived } from '../../chat/strict-json.ts'
import { replaceFindings, TextSpanQueue, viewOf } from './spans.ts'

const MARK = '[UPSTREAM_CREDENTIAL]'

/** Replaces the credential in a text. */
export const removeFromText = (text: string, credential: string | null): string =>
  credential === null ? text : text.replaceAll(credential, MARK)

/** Replaces the credential in bytes. */
export function removeFromBytes(bytes: Buffer, credential: string | null): Buffer {
  if (credential === null || !bytes.includes(credential)) return bytes
  return Buffer.from(removeFromText(bytes.toString('utf8'), credential))
}

/**
 * Replaces the credential in JSON, where it may be written with escapes. Other bytes are treated as
 * text.
 */
export function removeFromJson(bytes: Buffer, credential: string | null): Buffer {
  if (credential === null) return bytes
  let text: string
  try {
    text = JSON.stringify(parseReceived(bytes.toString('utf8')))
  } catch {
    return removeFromBytes(bytes, credential)
  }
  const written = JSON.stringify(credential).slice(1, -1)
  return text.includes(written) ? Buffer.from(text.replaceAll(written, MARK)) : bytes
}

/** Replaces the credential in a growing text. Holds back what may be its beginning. */
export class CredentialFilter {
  /** True once the credential was replaced. */
  replaced = false
  readonly #credential: string
  #held = new TextSpanQueue()
  /** The view of the spans held back. */
  #view = ''

  constructor(credential: string) {
    this.#credential = credential
  }

  get holds(): boolean {
    return this.#view !== ''
  }

  push(spans: readonly JsonSpan[]): readonly JsonSpan[] {
    const view = this.#view + viewOf(spans)
    const isClean = !view.includes(this.#credential)
    const keep = isClean ? this.#beginsIn(view) : view.length
    if (isClean && this.#view === '' && keep === view.length) return spans
    for (const span of spans) this.#held.push(span)
    return isClean ? this.#release(view, keep) : this.#replace(view)
  }

  /** Flushes the spans held back. Later text counts as a new text. */
  finish(): readonly JsonSpan[] {
    this.#view = ''
    return this.#held.takeUntil(Number.POSITIVE_INFINITY)
  }

  #replace(view: string): JsonSpan[] {
    this.replaced = true
    const base = this.#held.start
    const spans: JsonSpan[] = []
    let at = 0
    for (;;) {
      const found = view.indexOf(this.#credential, at)
      if (found < 0) break
      for (const span of this.#held.takeBefore(base + found)) spans.push(span)
      const start = this.#held.start
      const finding = {
        kind: 'secret',
        start: base + found,
        end: base + found + this.#credential.length,
      } as const
      const replaced = replaceFindings(this.#held.takeUntil(finding.end), start, [finding], () => MARK)
      for (const span of replaced) spans.push(span)
      // After the credential, or after the number that contains it.
      at = this.#held.start - base
    }
    const rest = view.slice(at)
    for (const span of this.#release(rest, this.#beginsIn(rest))) spans.push(span)
    return spans
  }

  /** Releases spans before `keep`, an offset in `view`. @param view of all spans held back */
  #release(view: string, keep: number): JsonSpan[] {
    this.#view = view.slice(keep)
    return this.#held.takeBefore(this.#held.start + keep)
  }

  /**
   * Offset where the text may end in the beginning of the credential; the text's length otherwise.
   */
  #beginsIn(view: string): number {
    const first = this.#credential[0]!
    let at = Math.max(0, view.length - this.#credential.length + 1)
    for (at = view.indexOf(first, at); at >= 0; at = view.indexOf(first, at + 1)) {
      if (this.#credential.startsWith(view.slice(at))) return at
    }
    return view.length
  }
}
