// The fields of rules that replace values, as files and the API write them.

import type { Checksum } from '../detect/pii/pattern-checksums.ts'

export interface WrittenValueFields {
  /** The kind of personal data that a rule defines. */
  readonly kind?: string
  /** Words of which one must be near a value. */
  readonly context?: readonly string[]
  readonly checksum?: Checksum
  /** Patterns of whole values that are left alone, or `samples`. */
  readonly except?: readonly string[]
  /** How placeholders of keywords name them. */
  readonly placeholder?: string
}

/** The names of these fields. */
export const VALUE_FIELDS = ['kind', 'context', 'checksum', 'except', 'placeholder'] as const
export type ValueField = (typeof VALUE_FIELDS)[number]

export const MAXIMUM_CONTEXT_WORDS = 32
/** A word has to fit into the characters after a value. */
export const MAXIMUM_CONTEXT_CHARACTERS = 32
export const MAXIMUM_EXCEPTIONS = 100
