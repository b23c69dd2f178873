// Values that recognisers found in texts, and where they are in a growing text. The caller asks the
// recognisers before the scan, which waits for nothing.

import { hash } from 'node:crypto'
import type { Channel } from '../../chat/channel.ts'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Finding } from '../../core/finding.ts'
import { nowOrInSlices, type Steps } from '../../core/steps.ts'
import type { Asking, Recognisers } from '../../recognisers/recognisers.ts'
import type { RecognisedValue, TextPiece } from '../../recognisers/values.ts'
import type { JsonWalls } from './json-walls.ts'

/** Maximum texts with values in one prompt or answer. */
const MAXIMUM_TEXTS = 200_000

/** Characters by which a value may be later in a text than where it was found. */
const MAXIMUM_SHIFT_CHARACTERS = 64

/** A value in the decoded form of a text. */
export interface OutsideValue extends Finding {
  readonly value: string
}

/** A whole text as it is written. */
interface WrittenText {
  readonly text: string
  readonly encoding: 'plain' | 'json'
  /** As in Text. */
  readonly isExact?: boolean
}

/** A whole text as it is written and as detectors read it. */
export interface ViewedText extends WrittenText {
  readonly view: string
}

/** Reads a text again for its walls, which matter only where values were found. */
type ReadWalls = (text: ViewedText) => Steps<JsonWalls>

/** The values in a prompt or an answer. */
export class OutsideValues {
  readonly #recognisers: Recognisers
  readonly #asking: Asking
  readonly #whole = new Map<string, readonly OutsideValue[]>()
  readonly #growing = new Map<string, OutsideValue[]>()

  constructor(recognisers: Recognisers, asking: Asking) {
    this.#recognisers = recognisers
    this.#asking = asking
  }

  /**
   * Asks about whole texts and keeps the values, cut at walls.
   * @throws GatewayError (rejects) as `Recognisers.find`, and `overloaded` for more than
   *   MAXIMUM_TEXTS texts with values
   */
  async ask(texts: readonly ViewedText[], read: ReadWalls, clock: Pick<Clock, 'monotonic'>): Promise<void> {
    const found = await this.find(texts.map(({ view }) => view))
    await nowOrInSlices(this.#keepAll(texts, found, read), clock)
  }

  *#keepAll(
    texts: readonly ViewedText[],
    found: readonly (readonly RecognisedValue[])[],
    read: ReadWalls,
  ): Steps<void> {
    for (const [index, text] of texts.entries()) {
      const values = found[index]!
      if (values.length === 0) continue
      const walls = mayHoldJson(text) ? yield* read(text) : null
      const parts = walls === null ? values : walls.cut(values, text.view)
      this.keep(text, valuesIn(text.view, parts))
    }
  }

  /** Asks about texts. @throws GatewayError (rejects) as `Recognisers.find` */
  find(texts: readonly string[]): ReturnType<Recognisers['find']> {
    return this.#recognisers.find(texts, this.#asking)
  }

  /** Keeps the values in a whole text. @throws GatewayError as `ask` */
  keep(text: WrittenText, values: readonly OutsideValue[]): void {
    if (values.length === 0) return
    if (this.#whole.size >= MAXIMUM_TEXTS)
      throw new GatewayError(
        'overloaded',
        `Recognisers found values in more than ${MAXIMUM_TEXTS} texts of this call.`,
      )
    this.#whole.set(nameOf(text), values)
  }

  /** Returns the values in a whole text; none in an exact one. */
  of(text: WrittenText): readonly OutsideValue[] {
    if (this.#whole.size === 0 || text.isExact === true) return []
    return this.#whole.get(nameOf(text)) ?? []
  }

  /** The values in a growing text, in order. The reader of a stream adds to them. */
  growing(choice: number, channel: Channel): OutsideValue[] {
    const name = `${choice} ${channel}`
    const known = this.#growing.get(name) ?? []
    this.#growing.set(name, known)
    return known
  }
}

const nameOf = ({ text, encoding }: WrittenText): string =>
  hash('sha256', text.toWellFormed(), 'base64url') + encoding

const mayHoldJson = ({ text, encoding }: WrittenText): boolean => encoding === 'json' || /[[{]/.test(text)

/** Adds to each value what it is in the text. */
const valuesIn = (view: string, values: readonly RecognisedValue[]): OutsideValue[] =>
  values.map(({ kind, start, end }) => ({
    ...{ kind, start, end },
    value: view.slice(start, end),
  }))

/** Values of one source, which count from where the source was added. */
interface Source {
  readonly values: readonly OutsideValue[]
  readonly origin: number
  /** Number of values that are placed. */
  next: number
}

/** Values with their places in a growing text. */
interface PlacedValues {
  readonly values: readonly Finding[]
  /** No further value begins before this offset. */
  readonly safe: number
}

/**
 * Places the values of recognisers in a growing text that a detector reads. Offsets of placed
 * values count in the detector, those of others in the whole text.
 */
export class OutsideFindings {
  readonly #sources: Source[] = []
  /** Characters of the text so far. */
  #seen = 0
  /** Offset in the detector of the beginning of the text. */
  #shift = 0

  /** Adds values that count from here on. The list may grow. */
  add(values: readonly OutsideValue[]): void {
    this.#sources.push({ values, origin: this.#seen, next: 0 })
  }

  /**
   * Notes text that the detector has got.
   * @param repeated characters of it, at its beginning, that are not part of the text
   */
  read(characters: number, repeated: number): void {
    this.#shift += repeated
    this.#seen += characters - repeated
  }

  /** Notes that a new detector reads what comes next. */
  restart(): void {
    this.#shift = -this.#seen
  }

  /**
   * Places the values that begin before `safe`.
   * @param held the text that is not released yet
   */
  place(safe: number, held: TextPiece): PlacedValues {
    const values: Finding[] = []
    let until = safe
    for (const source of this.#sources) until = Math.min(until, this.#placeAll(source, safe, held, values))
    return { values, safe: until }
  }

  /** @returns where the first value begins that is incomplete */
  #placeAll(source: Source, safe: number, held: TextPiece, placed: Finding[]): number {
    const { start: base } = held
    for (; source.next < source.values.length; source.next++) {
      const { kind, start, value } = source.values[source.next]!
      const at = start + source.origin + this.#shift
      if (at >= safe) break
      const near = at - base
      const isHere = near >= 0 && held.text.startsWith(value, near)
      const isPartial = near + value.length + MAXIMUM_SHIFT_CHARACTERS > held.text.length
      // The text may have it before, too, so other places count once all is there.
      if (!isHere && isPartial && safe < Infinity) return Math.max(at, base)
      const found = isHere ? near : placeOf(held.text, value, near)
      if (found >= 0) placed.push({ kind, start: base + found, end: base + found + value.length })
    }
    return Infinity
  }
}

/**
 * Returns where a value is, near an offset; -1 if it is nowhere. Where a block continues the text
 * of another, what that held back comes first.
 */
function placeOf(view: string, value: string, near: number): number {
  const before = near < 0 ? -1 : view.lastIndexOf(value, near)
  const after = view.indexOf(value, Math.max(0, near))
  if (before < 0 || after < 0) return Math.max(before, after)
  return near - before <= after - near ? before : after
}
