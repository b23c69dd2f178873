// Reads a text of an answer as the scanner's detectors read it: decoded, without the upstream's
// credential, and with shaped placeholders as what they stand for.

import { type JsonSpan, viewOf } from '../../chat/inner-json/json-span.ts'
import { JsonTextDecoder } from '../../chat/inner-json/json-text.ts'
import { CredentialFilter } from './credential-filter.ts'
import { JsonWalls } from './json-walls.ts'
import { ShapeFilter } from './shape-filter.ts'
import type { ScanRules } from './text-scanner.ts'

type ReadingRules = Pick<ScanRules, 'credential' | 'shapes'>

export class ViewReader {
  /** Where values of recognisers are cut in the view so far. */
  readonly walls = new JsonWalls()
  readonly #isDocument: boolean
  readonly #decoder: JsonTextDecoder
  readonly #credential: CredentialFilter | null
  readonly #shapes: ShapeFilter | null

  constructor({ credential, shapes }: ReadingRules, encoding: 'plain' | 'json') {
    this.#isDocument = encoding === 'json'
    this.#decoder = new JsonTextDecoder(encoding)
    this.#credential = credential === null ? null : new CredentialFilter(credential)
    this.#shapes = shapes === null ? null : new ShapeFilter()
  }

  /** Takes a piece and returns the next part of the view. */
  push(piece: string): string {
    return this.#next(this.#filter(this.#decoder.push(piece)))
  }

  /** Returns the rest of the view. Later text is a new text. */
  finish(): string {
    let rest = this.#next(this.#filter(this.#decoder.finish()))
    if (this.#credential !== null) rest += this.#next(this.#read(this.#credential.finish()))
    if (this.#shapes !== null) rest += this.#next(this.#shapes.finish())
    this.walls.endText(this.#isDocument)
    return rest
  }

  #next(spans: readonly JsonSpan[]): string {
    this.walls.read(spans)
    return viewOf(spans)
  }

  #filter(spans: readonly JsonSpan[]): readonly JsonSpan[] {
    return this.#read(this.#credential === null ? spans : this.#credential.push(spans))
  }

  #read(spans: readonly JsonSpan[]): readonly JsonSpan[] {
    return this.#shapes === null ? spans : this.#shapes.push(spans)
  }
}

/** A whole text as the scanner's detectors read it, with its walls. */
export function readView(
  { text, encoding }: { readonly text: string; readonly encoding: 'plain' | 'json' },
  rules: ReadingRules,
): { readonly view: string; readonly walls: JsonWalls } {
  const reader = new ViewReader(rules, encoding)
  return { view: reader.push(text) + reader.finish(), walls: reader.walls }
}
