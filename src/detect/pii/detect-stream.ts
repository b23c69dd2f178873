// Detection on a text that arrives in pieces: segments between cuts, each searched with a little of what came before.

import type { Finding } from '../../core/finding.ts'
import { newSearch, scanFrom, scanSegment } from './engine/scan.ts'
import type { SegmentSearch } from './engine/segment.ts'
import { CONTEXT_CHARACTERS, Segmenter } from './engine/segmenter.ts'
import { nextCandidate, nextTrigger } from './engine/trigger.ts'
import { fold } from './fold.ts'
import { KEY_BEGIN } from './keyblock.ts'
import { DEFAULT_KINDS, type KindSet, PERSON } from './kinds.ts'

/**
 * Finds what `detect` finds on the whole text, for every way to cut it into pieces. Offsets are UTF-16 and count from
 * the beginning of the stream. Holds at most one segment: 1,024 characters, 16,384 of a private key or token.
 */
export class StreamDetector {
  readonly #kinds: KindSet
  readonly #segmenter: Segmenter
  /** Context, then the segment that has not ended, folded; begins at offset #start. */
  #text = ''
  #start = 0
  #safe = 0
  /** Characters of #text in which the end of the segment was looked for. */
  #searched = 0

  constructor(kinds: KindSet = DEFAULT_KINDS) {
    this.#kinds = kinds
    this.#segmenter = new Segmenter(kinds)
  }

  /** Everything before this offset is final and may leave. */
  get safe(): number {
    return this.#safe
  }

  /** Takes a piece; returns the findings that have become certain, in order. Time is linear in the text so far. */
  push(chunk: string): Finding[] {
    const findings: Finding[] = []
    this.#text += fold(chunk, this.#text)
    if ((this.#kinds & PERSON) !== 0 || this.#text.includes(KEY_BEGIN, this.#safe - this.#start))
      this.#scanEverySegment(findings)
    else this.#scanTriggeredSegments(findings)
    this.#searched = this.#text.length
    this.#dropReleased()
    return findings
  }

  /** Every segment: with private keys, whose lines do not end segments, and for what has no trigger. */
  #scanEverySegment(findings: Finding[]): void {
    const search = this.#newSearch(findings)
    for (;;) {
      const end = this.#segmenter.nextCut(this.#text, this.#safe - this.#start, this.#searched)
      if (end < 0) return
      this.#scan(end, search)
    }
  }

  /** The segments that hold something to look at; those between are let go unread. */
  #scanTriggeredSegments(findings: Finding[]): void {
    const text = this.#text
    let search: SegmentSearch | null = null
    let segment = this.#safe - this.#start
    let trigger = nextCandidate(text, segment, this.#kinds)
    for (;;) {
      const triggerAt = trigger < 0 ? text.length : trigger
      segment = this.#segmenter.lastCut(text, segment, triggerAt)
      let end = this.#segmenter.nextCut(text, segment, this.#searched)
      while (end >= 0 && end <= triggerAt) {
        segment = end
        end = this.#segmenter.nextCut(text, segment, this.#searched)
      }
      this.#safe = this.#start + segment
      if (end < 0) return
      // Only now: what has not ended comes again with the next piece.
      search ??= this.#newSearch(findings)
      trigger = nextTrigger(text, trigger, this.#kinds, search.words)
      if (trigger >= 0 && trigger < end) trigger = scanFrom(search, trigger, segment, end)
      segment = end
    }
  }

  /** The text is over: searches what is left. */
  finish(): Finding[] {
    const findings: Finding[] = []
    this.#scan(this.#text.length, this.#newSearch(findings))
    return findings
  }

  #newSearch(findings: Finding[]): SegmentSearch {
    return newSearch(this.#text, this.#start, this.#kinds, findings)
  }

  /** @param end of the segment, in #text */
  #scan(end: number, search: SegmentSearch): void {
    scanSegment(search, this.#safe - this.#start, end, true)
    this.#safe = this.#start + end
  }

  #dropReleased(): void {
    const count = this.#safe - this.#start - CONTEXT_CHARACTERS
    // Not for every word: taking a few characters off a string costs as much as taking off many.
    if (count < CONTEXT_CHARACTERS) return
    this.#text = this.#text.slice(count)
    this.#start += count
    this.#searched -= count
    this.#segmenter.dropPrefix(count)
  }
}
