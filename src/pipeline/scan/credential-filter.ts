// The upstream's credential taken out of whatever an upstream says: some quote what they were sent in their errors.

import type { JsonRun } from '../../chat/json-text.ts'
import { replaceFindings, TextSpanQueue, viewOf } from './spans.ts'

/** What stands in its place. */
const MARK = '[UPSTREAM_CREDENTIAL]'

/** A text without it. */
export const cleanText = (text: string, credential: string | null): string =>
  credential === null ? text : text.replaceAll(credential, MARK)

/** The same for bytes. */
export function clean(bytes: Buffer, credential: string | null): Buffer {
  if (credential === null || !bytes.includes(credential)) return bytes
  return Buffer.from(cleanText(bytes.toString('utf8'), credential))
}

/** The same for JSON, in which it may be written with escapes. Bytes that are no JSON are cleaned as they are. */
export function cleanJson(bytes: Buffer, credential: string | null): Buffer {
  if (credential === null) return bytes
  let text: string
  try {
    text = JSON.stringify(JSON.parse(bytes.toString('utf8')))
  } catch {
    return clean(bytes, credential)
  }
  const written = JSON.stringify(credential).slice(1, -1)
  return text.includes(written) ? Buffer.from(text.replaceAll(written, MARK)) : bytes
}

/** A text that grows, without it: what could be its beginning is held until it is not. */
export class CredentialFilter {
  /** It has been met. */
  met = false
  readonly #credential: string
  #held = new TextSpanQueue()
  /** What the runs held say. */
  #view = ''

  constructor(credential: string) {
    this.#credential = credential
  }

  get holds(): boolean {
    return this.#view !== ''
  }

  push(runs: readonly JsonRun[]): readonly JsonRun[] {
    const view = this.#view + viewOf(runs)
    const isClean = !view.includes(this.#credential)
    const keep = isClean ? this.#beginsIn(view) : view.length
    if (isClean && this.#view === '' && keep === view.length) return runs
    for (const run of runs) this.#held.push(run)
    return isClean ? this.#release(view, keep) : this.#replace(view)
  }

  /** All that was held. Text that comes later is read as a new one. */
  finish(): readonly JsonRun[] {
    this.#view = ''
    return this.#held.takeUntil(Number.POSITIVE_INFINITY)
  }

  #replace(view: string): JsonRun[] {
    this.met = true
    const base = this.#held.start
    const runs: JsonRun[] = []
    let at = 0
    for (;;) {
      const found = view.indexOf(this.#credential, at)
      if (found < 0) break
      for (const run of this.#held.takeBefore(base + found)) runs.push(run)
      const start = this.#held.start
      const finding = {
        kind: 'secret',
        start: base + found,
        end: base + found + this.#credential.length,
      } as const
      const replaced = replaceFindings(this.#held.takeUntil(finding.end), start, [finding], () => MARK)
      for (const run of replaced) runs.push(run)
      // Past it, or past the number that it is a part of.
      at = this.#held.start - base
    }
    const rest = view.slice(at)
    for (const run of this.#release(rest, this.#beginsIn(rest))) runs.push(run)
    return runs
  }

  /** @param view what the runs held say @param keep where in it to hold on */
  #release(view: string, keep: number): JsonRun[] {
    this.#view = view.slice(keep)
    return this.#held.takeBefore(this.#held.start + keep)
  }

  /** Where a beginning of the credential begins that the text ends in; its length where there is none. */
  #beginsIn(view: string): number {
    const first = this.#credential[0]!
    let at = Math.max(0, view.length - this.#credential.length + 1)
    for (at = view.indexOf(first, at); at >= 0; at = view.indexOf(first, at + 1)) {
      if (this.#credential.startsWith(view.slice(at))) return at
    }
    return view.length
  }
}
