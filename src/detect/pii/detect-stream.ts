// Detects personal data in a text that arrives in chunks. Holds back the last segment until its end
// is known.

import { isDigit } from '../../core/ascii.ts'
import type { Finding } from '../../core/finding.ts'
import { newSearch, scanFrom, scanSegment } from './engine/scan.ts'
import type { SegmentSearch } from './engine/segment.ts'
import { CONTEXT_CHARACTERS, Segmenter } from './engine/segmenter.ts'
import { nextCandidate, nextTrigger, TRIGGER_CHARACTERS } from './engine/trigger.ts'
import { fold } from './fold.ts'
import { DEFAULT_KINDS, type KindSet, PERSON } from './kinds.ts'
import { SearchView } from './search-view.ts'

/** Characters of a chunk at least before candidates are judged ahead of their segment. */
const MINIMUM_JUDGED = 4096
/** Characters after a candidate that judge it, and more. */
const JUDGED_AHEAD = 256

/**
 * Finds what `detect` finds in the whole text, for every way to split it into chunks.
 * Offsets are UTF-16 and count from the start of the stream. Holds at most one segment: 1,024
 * characters, or 16,384 of a private key or token.
 */
export class StreamDetector {
  readonly #kinds: KindSet
  readonly #segmenter: Segmenter
  readonly #view = new SearchView()
  /** The context and the unfinished segment, folded. Starts at offset #start of the view. */
  #text = ''
  #start = 0
  #safe = 0
  /** Characters at the start of #text that hold no end of the segment. */
  #searched = 0
  /** Characters at the start of #text that hold no candidate. */
  #quiet = 0

  constructor(kinds: KindSet = DEFAULT_KINDS) {
    this.#kinds = kinds
    this.#segmenter = new Segmenter(kinds)
  }

  /** Everything before this offset is final and may be released. */
  get safe(): number {
    return this.#view.startOf(this.#safe)
  }

  /**
   * Takes a chunk and returns the findings that have become final, in order.
   * Over all chunks, time is linear in the text.
   */
  push(chunk: string): Finding[] {
    const findings: Finding[] = []
    this.#text += fold(this.#view.push(chunk), this.#text)
    if ((this.#kinds & PERSON) !== 0) this.#scanEverySegment(findings)
    else this.#scanTriggeredSegments(findings)
    this.#searched = this.#text.length
    this.#dropReleased()
    return this.#mapped(findings)
  }

  /** Scans every segment: names of persons have no trigger. */
  #scanEverySegment(findings: Finding[]): void {
    const search = this.#newSearch(findings)
    let searched = this.#searched
    for (;;) {
      const end = this.#segmenter.nextCut(this.#text, this.#safe - this.#start, searched)
      if (end < 0) return
      this.#scan(end, this.#segmenter.seen, search)
      search.rewind()
      searched = 0
    }
  }

  /** Scans the segments that hold a trigger and releases the others unread. */
  #scanTriggeredSegments(findings: Finding[]): void {
    const text = this.#text
    const segmenter = this.#segmenter
    let search: SegmentSearch | null = null
    let start = this.#safe - this.#start
    let searched = this.#searched
    // Judged ahead only in a large chunk, so that each candidate is judged about once.
    const judged = text.length - searched < MINIMUM_JUDGED ? 0 : text.length - JUDGED_AHEAD
    const nextFrom = (from: number): number => {
      if (from >= judged) return nextCandidate(text, from, this.#kinds)
      search ??= this.#newSearch(findings)
      return nextTrigger(text, from, this.#kinds, search.words, judged)
    }
    let trigger = nextFrom(Math.max(start, this.#quiet))
    const quiet = quietEnd(text)
    this.#quiet = trigger < 0 ? quiet : Math.min(trigger, quiet)
    for (;;) {
      const triggerAt = trigger < 0 ? text.length : trigger
      start = segmenter.lastStart(text, start, triggerAt, searched)
      let end = segmenter.nextCut(text, start, searched)
      while (end >= 0 && segmenter.seen <= triggerAt) {
        const next = segmenter.endAfter(end, segmenter.rowStart(start))
        start = segmenter.lastStart(text, next, triggerAt)
        end = segmenter.nextCut(text, start, 0)
      }
      this.#safe = this.#start + start
      if (end < 0) return
      const { seen } = segmenter
      // Created late: an unfinished segment is scanned with a later chunk.
      search ??= this.#newSearch(findings)
      // Beyond the segment a candidate is enough: each would be judged again for every segment.
      trigger = nextTrigger(text, trigger, this.#kinds, search.words, seen)
      let last = segmenter.rowStart(start)
      if (trigger >= 0 && trigger < seen) {
        const scanned = scanFrom(search, trigger, segmenter.bounds(text, start, end, seen))
        last = scanned.last
        trigger = scanned.next < 0 ? -1 : nextFrom(scanned.next)
      }
      start = segmenter.endAfter(end, last)
      searched = 0
      if (start < seen) {
        search.rewind()
        trigger = nextFrom(start)
      }
    }
  }

  /** Ends the text: scans the segment that is still held. */
  finish(): Finding[] {
    const findings: Finding[] = []
    const rest = this.#view.finish()
    if (rest !== '') this.#text += fold(rest, this.#text)
    const { length } = this.#text
    if (this.#mayHoldValue()) this.#scan(length, length, this.#newSearch(findings))
    else this.#safe = this.#start + length
    return this.#mapped(findings)
  }

  /** Prefilter: reports whether a value may start in the segment that is still held. */
  #mayHoldValue(): boolean {
    if ((this.#kinds & PERSON) !== 0) return true
    return nextCandidate(this.#text, Math.max(this.#safe - this.#start, this.#quiet), this.#kinds) >= 0
  }

  /** The findings with their offsets in the text instead of its view. */
  #mapped(findings: readonly Finding[]): Finding[] {
    const mapped = this.#view.mapped(findings)
    this.#view.release(this.#safe)
    return mapped
  }

  #newSearch(findings: Finding[]): SegmentSearch {
    return newSearch(this.#text, this.#start, this.#kinds, findings)
  }

  /** @param end end of the segment, offset in #text */
  #scan(end: number, seen: number, search: SegmentSearch): void {
    const start = this.#safe - this.#start
    const last = scanSegment(search, this.#segmenter.bounds(this.#text, start, end, seen))
    this.#safe = this.#start + this.#segmenter.endAfter(end, last)
  }

  #dropReleased(): void {
    const count = this.#safe - this.#start - CONTEXT_CHARACTERS
    // Wait until much can be dropped: dropping a few characters costs as much as dropping many.
    if (count < CONTEXT_CHARACTERS) return
    this.#text = this.#text.slice(count)
    this.#start += count
    this.#searched -= count
    this.#quiet = Math.max(0, this.#quiet - count)
    this.#segmenter.dropPrefix(count)
  }
}

/** Where a candidate may be after all, once text follows one that holds none. */
function quietEnd(text: string): number {
  let end = Math.max(0, text.length - TRIGGER_CHARACTERS)
  while (end > 0 && isDigit(text.charCodeAt(end - 1))) end--
  return end
}
