// How the placeholders of redacted values are written.

/** `brackets`: `[EMAIL_1]`; `shaped`: `email-1@redacted.invalid`, in the form of the value. */
export const PLACEHOLDER_STYLES = ['brackets', 'shaped'] as const
export type PlaceholderStyle = (typeof PLACEHOLDER_STYLES)[number]

/** What the styles are, for documents. */
export const STYLES =
  "`brackets` (`[EMAIL_1]`), or `shaped`: in the form and JSON type of the value, from ranges that are nobody's (`email-1@redacted.invalid`)"

/** How a redacted value of an embedding is named: a pseudonym is the same in every call. */
export const EMBEDDING_NAMES = ['pseudonym', 'number'] as const
export type EmbeddingName = (typeof EMBEDDING_NAMES)[number]
