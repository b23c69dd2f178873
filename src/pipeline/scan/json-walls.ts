// Knows where JSON in a decoded text stays as it is: its punctuation, its numbers and the names of
// its members. A value of a recogniser, which reads it all as prose, is cut there.

import type { JsonSpan } from '../../chat/inner-json/json-span.ts'
import type { RecognisedValue } from '../../recognisers/values.ts'

/** A range of the view that stays. */
interface Wall {
  readonly start: number
  readonly end: number
  /** Offset of what shows that it is one. */
  readonly shownAt: number
}

/** Text in quotes that may be the first name of an object. */
interface Quoted {
  readonly level: number
  readonly start: number
  /** -1 while it is open. */
  end: number
}

const WORDS = /[\p{L}\p{N}](?:[\s\S]*[\p{L}\p{N}])?/u

export class JsonWalls {
  /** By their beginnings. A name that is shown late is around those in it. */
  #walls: Wall[] = []
  #at = 0
  /** Levels whose string is open. */
  readonly #open = new Set<number>()
  /** Level of the open name; -1 without one. */
  #nameLevel = -1
  /** From the outermost level inwards. */
  #quoted: Quoted[] = []
  #last: { readonly level: number; readonly endsInQuote: boolean } = { level: 0, endsInQuote: false }

  /** Reads the next spans of the text. */
  read(spans: readonly JsonSpan[]): void {
    for (const span of spans) {
      const start = this.#at
      this.#at += span.view.length
      const inName = this.#nameLevel >= 0
      if (span.kind === 'structure') {
        this.#endQuoted(span, start)
        this.#follow(span)
      } else this.#readText(span, start)
      if (inName || span.kind === 'structure' || span.kind === 'number') this.#add(start, this.#at, start)
      this.#last = { level: span.level, endsInQuote: span.view.endsWith('"') }
    }
  }

  /** Ends the JSON that is open, as at the end of a document. */
  endDocument(): void {
    this.#open.clear()
    this.#nameLevel = -1
    this.#quoted = []
  }

  /**
   * Returns the parts of values that have words and are outside the walls.
   * @param values in order, without overlap
   * @param view the text from `from` on
   * @param until offset to which walls have to show
   */
  cut<Value extends RecognisedValue>(
    values: readonly Value[],
    view: string,
    from = 0,
    until = Number.POSITIVE_INFINITY,
  ): Value[] {
    const parts: Value[] = []
    let next = 0
    const add = (value: Value, start: number, end: number) => {
      const words = start < end ? WORDS.exec(view.slice(start - from, end - from)) : null
      if (words === null) return
      const at = start + words.index
      parts.push({ ...value, start: at, end: at + words[0].length })
    }
    for (const value of values) {
      let at = value.start
      let isCut = false
      while (next < this.#walls.length && this.#walls[next]!.end <= at) next++
      for (let index = next; index < this.#walls.length; index++) {
        const wall = this.#walls[index]!
        if (wall.start >= value.end) break
        if (wall.shownAt >= until) continue
        add(value, at, wall.start)
        at = Math.max(at, wall.end)
        isCut = true
      }
      if (isCut) add(value, at, value.end)
      else if (WORDS.test(view.slice(value.start - from, value.end - from))) parts.push(value)
    }
    return parts
  }

  /** Joins walls that are in others. To be called at the end of the text. */
  settle(): void {
    let end = -1
    this.#walls = this.#walls.filter((wall) => {
      const isOutside = wall.start >= end
      end = Math.max(end, wall.end)
      return isOutside
    })
  }

  /** Reports whether a range is in a wall or crosses one, after `settle`. */
  isIn({ start, end }: Pick<Wall, 'start' | 'end'>): boolean {
    let low = 0
    let high = this.#walls.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#walls[middle]!.end <= start) low = middle + 1
      else high = middle
    }
    const wall = this.#walls[low]
    return wall !== undefined && wall.start < end
  }

  /** Forgets the walls before an offset. */
  forget(before: number): void {
    this.#walls = this.#walls.filter(({ end }) => end > before)
  }

  #add(start: number, end: number, shownAt: number): void {
    const last = this.#walls.at(-1)
    // What is shown later is kept apart, so that a cut depends on the text up to it alone.
    if (last?.end === start && last.shownAt <= last.start) {
      this.#walls[this.#walls.length - 1] = { start: last.start, end, shownAt: last.shownAt }
    } else this.#walls.push({ start, end, shownAt })
  }

  /** Follows the quotes of structure: each opens or closes a string. */
  #follow({ level, view, opensValue }: JsonSpan): void {
    for (let at = view.indexOf('"'); at >= 0; at = view.indexOf('"', at + 1)) {
      if (this.#open.delete(level)) {
        for (const other of this.#open) if (other > level) this.#open.delete(other)
        if (this.#nameLevel >= level) this.#nameLevel = -1
        continue
      }
      this.#open.add(level)
      if (opensValue !== true && this.#nameLevel < 0) this.#nameLevel = level
    }
  }

  /** Notes text in quotes that is not known to be JSON yet. */
  #readText({ level, view }: JsonSpan, start: number): void {
    if (level > this.#last.level) {
      if (!this.#last.endsInQuote) return
      this.#leaveLevels(this.#last.level)
      this.#quoted.push({ level: this.#last.level, start, end: -1 })
      return
    }
    this.#leaveLevels(level + 1)
    const quoted = this.#quoted.at(-1)
    if (quoted?.level !== level) return
    if (quoted.end < 0 && view[0] === '"') quoted.end = start
    if (quoted.end < 0 || view.slice(quoted.end === start ? 1 : 0).trim() !== '') this.#quoted.pop()
  }

  /** A colon shows that the text in quotes before it is a name. */
  #endQuoted({ level, view }: JsonSpan, start: number): void {
    this.#leaveLevels(level + 1)
    const quoted = this.#quoted.at(-1)
    if (quoted?.level !== level) return
    this.#quoted.pop()
    if (quoted.end < 0 || view[0] !== ':') return
    const inside = this.#walls.findLastIndex((wall) => wall.start < quoted.start) + 1
    this.#walls.splice(inside, 0, { start: quoted.start, end: quoted.end, shownAt: start })
  }

  /** Drops quoted texts of a level and those in it. */
  #leaveLevels(level: number): void {
    while ((this.#quoted.at(-1)?.level ?? -1) >= level) this.#quoted.pop()
  }
}
