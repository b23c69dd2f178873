// Counts what one call does with tools, by their names. Names that may hold personal data are
// counted together, because entries and metrics keep them.

import { MAXIMUM_SEALED_TOOLS, OTHER_TOOLS, type SealedTool } from '../../audit/entry-fields.ts'
import { isLegible } from '../../core/hidden-characters.ts'
import { detect } from '../../detect/pii/detect.ts'
import type { KindSet } from '../../detect/pii/kinds.ts'

/** Longest name that is reported, UTF-16 units. */
const MAXIMUM_REPORTED_CHARACTERS = 128

/** Names whose answer is remembered; agents repeat the same few. */
const MAXIMUM_KNOWN_NAMES = 4096

/** What is reported of each name, by the kinds of personal data that are enabled. */
const known = new Map<KindSet, Map<string, string>>()

/** The name as reports have it. @param kinds of personal data */
function reportedName(name: string, kinds: KindSet): string {
  let names = known.get(kinds)
  if (names === undefined) {
    names = new Map()
    known.set(kinds, names)
  }
  let reported = names.get(name)
  if (reported === undefined) {
    const isFit =
      name.length <= MAXIMUM_REPORTED_CHARACTERS && isLegible(name) && detect(name, kinds).length === 0
    reported = isFit ? name : OTHER_TOOLS
    if (names.size >= MAXIMUM_KNOWN_NAMES) names.clear()
    names.set(name, reported)
  }
  return reported
}

type Count = { -readonly [Name in 'called' | 'defined' | 'refused']: SealedTool[Name] }

export class ToolUse {
  readonly #kinds: KindSet
  readonly #counts = new Map<string, Count>()

  /** @param kinds of personal data that names must not hold */
  constructor(kinds: KindSet) {
    this.#kinds = kinds
  }

  /** Notes a definition of the request. */
  defined(name: string): void {
    this.#countOf(name).defined = true
  }

  /** Counts a call that an answer asks for. */
  called(name: string): void {
    this.#countOf(name).called++
  }

  /** Counts a definition that left the request or denied it, or a call that was refused. */
  refused(name: string): void {
    this.#countOf(name).refused++
  }

  /** Calls of all tools together. */
  get calls(): number {
    return [...this.#counts.values()].reduce((sum, { called }) => sum + called, 0)
  }

  /** One for each name, in the order of first appearance. */
  sealed(): SealedTool[] {
    return Array.from(this.#counts, ([name, { called, defined, refused }]) => ({
      ...{ called, defined, name, refused },
    }))
  }

  #countOf(name: string): Count {
    const reported = reportedName(name, this.#kinds)
    const isFull = this.#counts.size >= MAXIMUM_SEALED_TOOLS && !this.#counts.has(reported)
    const at = isFull ? OTHER_TOOLS : reported
    let count = this.#counts.get(at)
    if (count === undefined) {
      count = { called: 0, defined: false, refused: 0 }
      this.#counts.set(at, count)
    }
    return count
  }
}
