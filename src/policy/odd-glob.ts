// Says why a glob that is valid is probably not what its author means.

import { hasHidden, visible } from '../core/hidden-characters.ts'

/** Signs of a regular expression, by what a glob names: a key may have brackets in its name. */
const EXPRESSIONS = {
  models: /[\^$|()\\]|\.\*|\.\+/,
  keys: /^\^|\$$|[|\\]|\.[*+]/,
} as const

/** Returns what is odd about a glob over names of models or keys; null for an ordinary one. */
export function whyOddGlob(glob: string, names: keyof typeof EXPRESSIONS): string | null {
  if (hasHidden(glob)) return `has characters that nobody sees, as in \`${visible(glob)}\`; remove them`
  if (glob.trim() !== glob)
    return `has white space at its ends, which is compared too; write \`${glob.trim()}\``
  return EXPRESSIONS[names].test(glob) ? 'looks like a regular expression; globs know only `*` and `?`' : null
}
