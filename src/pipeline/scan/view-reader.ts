// Reads a text of an answer as the scanner's detectors read it: decoded, without the upstream's
// credential, and with shaped placeholders as what they stand for.

import { type JsonSpan, viewOf } from '../../chat/inner-json/json-span.ts'
import { JsonTextDecoder } from '../../chat/inner-json/json-text.ts'
import { CredentialFilter } from './credential-filter.ts'
import { ShapeFilter } from './shape-filter.ts'
import type { ScanRules } from './text-scanner.ts'

type ReadingRules = Pick<ScanRules, 'credential' | 'shapes'>

export class ViewReader {
  readonly #decoder: JsonTextDecoder
  readonly #credential: CredentialFilter | null
  readonly #shapes: ShapeFilter | null

  constructor({ credential, shapes }: ReadingRules, encoding: 'plain' | 'json') {
    this.#decoder = new JsonTextDecoder(encoding)
    this.#credential = credential === null ? null : new CredentialFilter(credential)
    this.#shapes = shapes === null ? null : new ShapeFilter()
  }

  /** Takes a piece and returns the next part of the view. */
  push(piece: string): string {
    return viewOf(this.#filter(this.#decoder.push(piece)))
  }

  /** Returns the rest of the view. Later text is a new text. */
  finish(): string {
    let rest = viewOf(this.#filter(this.#decoder.finish()))
    if (this.#credential !== null) rest += viewOf(this.#read(this.#credential.finish()))
    if (this.#shapes !== null) rest += viewOf(this.#shapes.finish())
    return rest
  }

  #filter(spans: readonly JsonSpan[]): readonly JsonSpan[] {
    return this.#read(this.#credential === null ? spans : this.#credential.push(spans))
  }

  #read(spans: readonly JsonSpan[]): readonly JsonSpan[] {
    return this.#shapes === null ? spans : this.#shapes.push(spans)
  }
}

/** A whole text as the scanner's detectors read it. */
export function viewOfText(text: string, encoding: 'plain' | 'json', rules: ReadingRules): string {
  const reader = new ViewReader(rules, encoding)
  return reader.push(text) + reader.finish()
}
