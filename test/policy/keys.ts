// Keys that tests share.

import { type CallKey, type KeyTerms, NO_TERMS } from '../../src/core/key-terms.ts'
import type { MatchedKey } from '../../src/policy/compile.ts'

/** A key of a call. */
export const callKey = (name = 'app', terms: Partial<KeyTerms> = {}, id = 'k'): CallKey => ({
  id,
  name,
  line: id,
  terms: { ...NO_TERMS, ...terms },
})

/** A key that the configuration declares. */
export const declaredKey = (name: string, sha256: string, terms: Partial<KeyTerms> = {}) => ({
  name,
  sha256,
  clientName: null,
  token: null,
  terms: { ...NO_TERMS, ...terms },
})

/** What rules match of a key. */
export const keyOf = (name: string, labels: Readonly<Record<string, string>> = {}): MatchedKey => ({
  name,
  labels,
})
