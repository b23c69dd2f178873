// Holds a set of enabled kinds as a bit mask that is cheap to test.

import { type BuiltInKind, DEFAULT_PII_KINDS, PII_KINDS } from '../../core/finding.ts'

/** One bit per built-in kind, in the order of PII_KINDS. */
export type KindSet = number

const BITS: ReadonlyMap<string, KindSet> = new Map(PII_KINDS.map((kind, index) => [kind, 1 << index]))

/** Returns the set of the built-in ones among these kinds. */
export function kindSet(kinds: Iterable<string>): KindSet {
  let set = 0
  for (const kind of kinds) set |= BITS.get(kind) ?? 0
  return set
}

export const DEFAULT_KINDS: KindSet = kindSet(DEFAULT_PII_KINDS)

/** The kinds that need a scan of their own; test with `(kinds & PERSON) !== 0`. */
export const PERSON: KindSet = kindSet(['person'])
export const ADDRESS: KindSet = kindSet(['address'])

export const hasKind = (set: KindSet, kind: BuiltInKind): boolean => (set & (BITS.get(kind) ?? 0)) !== 0
