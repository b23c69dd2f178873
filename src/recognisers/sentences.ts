// Cuts texts for recognisers: whole texts into windows, growing texts into sentences. Each cut
// depends on the text alone, so that chunk boundaries cannot matter.

/** Maximum characters of a text that are sent at once. */
const MAXIMUM_WINDOW_CHARACTERS = 16_384
/** Maximum characters of a growing text that wait for the end of their sentence. */
export const MAXIMUM_SENTENCE_CHARACTERS = 2000
/** Characters at the end of a window that are searched for a cut. */
const CUT_CHARACTERS = 1000

/** A piece of a text, with its offset. */
export interface TextWindow {
  readonly start: number
  readonly text: string
}

/** Where a sentence may end: at a line end, after a full stop of CJK, or before white space. */
const END = /\n|[。！？｡]["'”’」』）)]*(?=[^"'”’」』）)])|[.!?…]["'”’»)\]]*(?=\s)/g

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

/** Cuts a whole text into windows of at most MAXIMUM_WINDOW_CHARACTERS, between sentences. */
export function windowsOf(text: string): readonly TextWindow[] {
  const windows: TextWindow[] = []
  let start = 0
  while (text.length - start > MAXIMUM_WINDOW_CHARACTERS) {
    const limit = start + MAXIMUM_WINDOW_CHARACTERS
    let end = -1
    const near = text.slice(0, limit)
    for (let at = sentenceEnd(near, limit - CUT_CHARACTERS); at >= 0; at = sentenceEnd(near, at)) end = at
    if (end < 0) end = forcedEnd(text, start, limit)
    windows.push({ start, text: text.slice(start, end) })
    start = end
  }
  windows.push({ start, text: text.slice(start) })
  return windows
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
    for (let end = this.#nextEnd(); end > 0; end = this.#nextEnd()) ended.push(this.#take(end))
    return ended
  }

  /** Ends the sentence that waits. Later text begins the next. */
  finish(): readonly TextWindow[] {
    return this.#rest === '' ? [] : [this.#take(this.#rest.length)]
  }

  #nextEnd(): number {
    const end = sentenceEnd(this.#rest.slice(0, MAXIMUM_SENTENCE_CHARACTERS + 1), 0)
    if (end > 0 || this.#rest.length <= MAXIMUM_SENTENCE_CHARACTERS) return end
    return forcedEnd(this.#rest, 0, MAXIMUM_SENTENCE_CHARACTERS)
  }

  #take(end: number): TextWindow {
    const taken = { start: this.#start, text: this.#rest.slice(0, end) }
    this.#rest = this.#rest.slice(end)
    this.#start += end
    return taken
  }
}
