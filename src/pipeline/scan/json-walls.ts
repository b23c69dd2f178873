// Knows where JSON in a decoded text stays as it is: its punctuation, its numbers and the names of
// its members. A value of a recogniser, which reads it all as prose, is cut there.

import type { JsonSpan } from '../../chat/inner-json/json-span.ts'
import { firstEndingAfter } from '../../core/ranges.ts'
import { type RecognisedValue, wordsIn } from '../../recognisers/values.ts'

/** A range of the view that stays. */
interface Wall {
  readonly start: number
  readonly end: number
  /** Offset of what shows that it is not one; Infinity for a wall. */
  readonly refutedAt: number
}

/** Text in quotes that may be the first name of an object. */
interface Quoted {
  readonly level: number
  readonly start: number
  /** -1 while it is open. */
  end: number
}

export class JsonWalls {
  /** By their beginnings. The first name of an object is around those in it. */
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
      if (inName || span.kind === 'structure' || span.kind === 'number') this.#add(start, this.#at)
      this.#last = { level: span.level, endsInQuote: span.view.endsWith('"') }
    }
  }

  /** Ends the text, which may continue. @param isDocument whether what continues is other JSON */
  endText(isDocument: boolean): void {
    this.#leaveLevels(0, this.#at - 1)
    if (!isDocument) return
    this.#open.clear()
    this.#nameLevel = -1
  }

  /**
   * Returns the parts of values that have words and are outside the walls.
   * @param values by their starts; they may overlap, and so do the parts
   * @param view the text from `from` on
   * @param until end of what may tell: text that may be a name counts as one up to there
   */
  cut<Value extends RecognisedValue>(
    values: readonly Value[],
    view: string,
    from = 0,
    until = Number.POSITIVE_INFINITY,
  ): Value[] {
    const parts: Value[] = []
    const open = this.#quoted.map(({ start, end }) => ({
      ...{ start, end: end < 0 ? this.#at : end, refutedAt: Number.POSITIVE_INFINITY },
    }))
    const walls =
      open.length === 0 ? this.#walls : [...this.#walls, ...open].sort((a, b) => a.start - b.start)
    let next = 0
    const add = (value: Value, start: number, end: number) => {
      const words = start < end ? wordsIn(view.slice(start - from, end - from)) : null
      if (words !== null) parts.push({ ...value, start: start + words.start, end: start + words.end })
    }
    for (const value of values) {
      let at = value.start
      let isCut = false
      while (next < walls.length && walls[next]!.end <= at) next++
      for (let index = next; index < walls.length; index++) {
        const wall = walls[index]!
        if (wall.start >= value.end) break
        if (wall.refutedAt < until) continue
        add(value, at, wall.start)
        at = Math.max(at, wall.end)
        isCut = true
      }
      if (isCut) add(value, at, value.end)
      else if (wordsIn(view.slice(value.start - from, value.end - from)) !== null) parts.push(value)
    }
    return parts.sort((a, b) => a.start - b.start)
  }

  /** Joins walls that are in others. To be called at the end of the text. */
  settle(): void {
    let end = -1
    this.#walls = this.#walls.filter((wall) => {
      const isOutside = wall.refutedAt === Number.POSITIVE_INFINITY && wall.start >= end
      if (isOutside) end = wall.end
      return isOutside
    })
  }

  /** Reports whether a range is in a wall or crosses one, after `settle`. */
  isIn({ start, end }: Pick<Wall, 'start' | 'end'>): boolean {
    const wall = this.#walls[firstEndingAfter(this.#walls, start)]
    return wall !== undefined && wall.start < end
  }

  /** Forgets the walls before an offset. */
  forget(before: number): void {
    this.#walls = this.#walls.filter(({ end }) => end > before)
  }

  #add(start: number, end: number): void {
    const last = this.#walls.at(-1)
    if (last?.end === start && last.refutedAt === Number.POSITIVE_INFINITY)
      this.#walls[this.#walls.length - 1] = { ...last, end }
    else this.#walls.push({ start, end, refutedAt: Number.POSITIVE_INFINITY })
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
      this.#leaveLevels(this.#last.level, start)
      this.#quoted.push({ level: this.#last.level, start, end: -1 })
      return
    }
    this.#leaveLevels(level + 1, start)
    const quoted = this.#quoted.at(-1)
    if (quoted?.level !== level) return
    const isClosing = quoted.end < 0 && view[0] === '"'
    if (isClosing) quoted.end = start
    const next = view.slice(isClosing ? 1 : 0).search(/\S/)
    if (quoted.end < 0) this.#refute(start)
    else if (next >= 0) this.#refute(start + next + (isClosing ? 1 : 0))
  }

  /** A colon shows that the text in quotes before it is a name. */
  #endQuoted({ level, view }: JsonSpan, start: number): void {
    this.#leaveLevels(level + 1, start)
    const quoted = this.#quoted.at(-1)
    if (quoted?.level !== level) return
    if (quoted.end < 0 || view[0] !== ':') this.#refute(start)
    else this.#insert(this.#quoted.pop()!, Number.POSITIVE_INFINITY)
  }

  /** Drops quoted texts of a level and those in it: they are no names. */
  #leaveLevels(level: number, refutedAt: number): void {
    while ((this.#quoted.at(-1)?.level ?? -1) >= level) this.#refute(refutedAt)
  }

  #refute(refutedAt: number): void {
    this.#insert(this.#quoted.pop()!, refutedAt)
  }

  #insert({ start, end }: Quoted, refutedAt: number): void {
    const index = this.#walls.findLastIndex((wall) => wall.start < start) + 1
    this.#walls.splice(index, 0, { start, end: end < 0 ? Math.max(start, refutedAt) : end, refutedAt })
  }
}
