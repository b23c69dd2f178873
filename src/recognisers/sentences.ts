// Cuts texts for recognisers: whole texts into windows, growing texts into sentences. Each cut
// depends on the text alone, so that chunk boundaries cannot matter.

/** Maximum characters of a text that are sent at once. */
const MAXIMUM_WINDOW_CHARACTERS = 16_384
/** Maximum characters of a growing text that wait for the end of their sentence. */
export const MAXIMUM_SENTENCE_CHARACTERS = 2000
/** Characters at the end of a window that are searched for a cut. */
const CUT_CHARACTERS = 1000
/**
 * Characters that a window repeats of the one before, at least. A value with as many is whole in
 * one of the two.
 */
export const OVERLAP_CHARACTERS = 256

/** A piece of a text, with its offset. */
export interface TextWindow {
  readonly start: number
  readonly text: string
  /**
   * Offset in the text where the next window begins. Values that begin from there on are whole in
   * the next, and count there.
   */
  readonly until: number
}

/**
 * Where a sentence may end: at a blank line, before an item of a list, after a full stop of CJK, or
 * after another and before white space. A single line break ends none: names wrap.
 */
const END =
  /\n[^\S\n]*\n|\u2029|\n(?=[^\S\n]*(?:[-*+•]|\d{1,3}[.)])[^\S\n])|[。！？｡]["'”’」』）)]*(?=[^"'”’」』）)])|[.!?…]["'”’»)\]]*(?=\s)/g

/** Words before a full stop that ends no sentence, and single letters. */
const ABBREVIATION =
  /(?:^|[\s("'“‘])(?:\p{L}|\p{L}(?:\.\p{L})+|Dr|Mr|Mrs|Ms|Mx|Prof|St|Sr|Jr|Rev|Gen|Col|Sgt|Capt|Lt|Hr|Fr|Mme|Mlle|Sra|Dra|Herr|Nr|No|vs|Inc|Ltd|Co|Ave|Blvd|Mt|Ft)\.$/u
/** Longest abbreviation, and the character before it. */
const ABBREVIATION_CHARACTERS = 12

/** Returns the end of the sentence that begins at `from`; -1 while the text does not show it. */
function sentenceEnd(text: string, from: number): number {
  END.lastIndex = from
  for (let found = END.exec(text); found !== null; found = END.exec(text)) {
    const end = found.index + found[0].length
    const isStop = found[0] === '.'
    const before = text.slice(Math.max(from, end - ABBREVIATION_CHARACTERS), end)
    if (!isStop || !ABBREVIATION.test(before)) return end
  }
  return -1
}

/** The nearest offset at or before `at` that is not inside a pair of surrogates. */
const wholeCharacter = (text: string, at: number): number =>
  (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at

/** Where a text without a usable end is cut: after the last white space before `limit`, if any. */
function forcedEnd(text: string, from: number, limit: number): number {
  const least = Math.max(from + 1, limit - CUT_CHARACTERS)
  for (let at = limit; at > least; at--) if (/\s/.test(text[at - 1]!)) return at
  return Math.max(from + 1, wholeCharacter(text, limit))
}

/** Where the window after one begins: at white space, so that no value is cut in both. */
function overlapStart(text: string, from: number, end: number): number {
  const latest = end - OVERLAP_CHARACTERS
  for (let at = latest; at > Math.max(from, latest - OVERLAP_CHARACTERS); at--)
    if (/\s/.test(text[at - 1]!)) return at
  return wholeCharacter(text, latest)
}

/**
 * Cuts a whole text into windows of at most MAXIMUM_WINDOW_CHARACTERS, between sentences or at
 * white space where it can. Neighbours overlap.
 */
export function windowsOf(text: string): readonly TextWindow[] {
  const windows: TextWindow[] = []
  let start = 0
  while (text.length - start > MAXIMUM_WINDOW_CHARACTERS) {
    const limit = start + MAXIMUM_WINDOW_CHARACTERS
    let end = -1
    const near = text.slice(0, limit)
    for (let at = sentenceEnd(near, limit - CUT_CHARACTERS); at >= 0; at = sentenceEnd(near, at)) end = at
    if (end < 0) end = forcedEnd(text, start, limit)
    const until = overlapStart(text, start, end)
    windows.push({ start, text: text.slice(start, end), until })
    start = until
  }
  windows.push({ start, text: text.slice(start), until: text.length })
  return windows
}

/** A value in a text. */
interface Span {
  readonly kind: string
  readonly start: number
  readonly end: number
}

/** Joins the values of the windows of a text, so that each counts once. */
export class JoinedValues<Value extends Span> {
  /** By kind: the end of the values so far. */
  readonly #ends = new Map<string, number>()
  /** Values that begin where the next window does, or after. */
  #next: readonly Value[] = []

  /**
   * Adds the values in the next window, and returns those that are final. All offsets count in the
   * text.
   * @param values in order; only those of different kinds may overlap
   */
  add({ until }: Pick<TextWindow, 'until'>, values: readonly Value[]): readonly Value[] {
    // The later window shows more of a value.
    const seen = this.#next.filter(
      (one) =>
        !values.some(({ kind, start, end }) => kind === one.kind && start < one.end && one.start < end),
    )
    const final: Value[] = []
    const next: Value[] = []
    for (const value of [...values, ...seen].sort((a, b) => a.start - b.start)) {
      if (value.start >= until) next.push(value)
      else {
        const end = this.#ends.get(value.kind) ?? 0
        if (value.end <= end) continue
        final.push({ ...value, start: Math.max(value.start, end) })
        this.#ends.set(value.kind, value.end)
      }
    }
    this.#next = next
    return final
  }
}

/** Cuts a growing text into sentences. */
export class GrowingSentences {
  #start = 0
  #rest = ''

  /** Characters that wait for the end of their sentence. */
  get waiting(): number {
    return this.#rest.length
  }

  /** Offset of the end of the text so far. */
  get end(): number {
    return this.#start + this.#rest.length
  }

  /** Adds text and returns the sentences that it completes. */
  push(text: string): readonly TextWindow[] {
    this.#rest += text
    const ended: TextWindow[] = []
    for (let next = this.#next(); next !== null; next = this.#next()) ended.push(next)
    return ended
  }

  /** Ends the sentence that waits. Later text begins the next. */
  finish(): readonly TextWindow[] {
    return this.#rest === '' ? [] : [this.#take(this.#rest.length)]
  }

  #next(): TextWindow | null {
    const end = sentenceEnd(this.#rest.slice(0, MAXIMUM_SENTENCE_CHARACTERS + 1), 0)
    if (end > 0) return this.#take(end)
    if (this.#rest.length <= MAXIMUM_SENTENCE_CHARACTERS) return null
    const cut = forcedEnd(this.#rest, 0, MAXIMUM_SENTENCE_CHARACTERS)
    return this.#take(cut, overlapStart(this.#rest, 0, cut))
  }

  #take(end: number, until = end): TextWindow {
    const taken = { start: this.#start, text: this.#rest.slice(0, end), until: this.#start + until }
    this.#rest = this.#rest.slice(until)
    this.#start += until
    return taken
  }
}
