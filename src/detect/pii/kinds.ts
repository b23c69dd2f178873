// Which kinds are looked for, as a bit mask that is cheap to test.

import { DEFAULT_PII_KINDS, PII_KINDS, type PiiKind } from '../../core/finding.ts'

/** One bit a kind, in the order of PII_KINDS. */
export type KindSet = number

const BITS = Object.fromEntries(PII_KINDS.map((kind, index) => [kind, 1 << index])) as Record<
  PiiKind,
  KindSet
>

export function kindSet(kinds: Iterable<PiiKind>): KindSet {
  let set = 0
  for (const kind of kinds) set |= BITS[kind]
  return set
}

export const DEFAULT_KINDS: KindSet = kindSet(DEFAULT_PII_KINDS)

export const hasKind = (set: KindSet, kind: PiiKind): boolean => (set & BITS[kind]) !== 0
