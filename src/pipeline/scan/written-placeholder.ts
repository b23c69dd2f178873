// Writes the placeholder of a value as the value is written, so that a URL stays one.

import type { PiiKind } from '../../core/finding.ts'
import { escapeValue } from './placeholder-spelling.ts'
import { restorableValue } from './placeholders.ts'
import { shaped } from './shapes.ts'

const PERCENT_ESCAPE = /%[0-9A-Fa-f]{2}/
const PERCENT_ESCAPE_TWICE = /%25[0-9A-Fa-f]{2}/
/** A number with the spaces of a form. */
const FORM = /^[^&\\=]*\+[^&\\=]*$/
const GAPS = /[- ]/g
/** Shapes are read with plain colons, which a URL may have. */
const ENCODED_SIGN = /[^\w.~:-]/g

interface Replaced {
  readonly kind: PiiKind
  /** As it is in the text. */
  readonly value: string
  /** Whether the placeholder has the shape of a value. */
  readonly isShaped: boolean
  /** Whether the value is a number of JSON. */
  readonly isNumber: boolean
}

/**
 * Returns what is written for a value: the form of its placeholder or its shape, percent-encoded as
 * often as the value. Other escapes need no escaped brackets.
 */
export function writtenPlaceholder(form: string, { kind, value, isShaped, isNumber }: Replaced): string {
  const plain = restorableValue(kind, value)
  const isEncoded = plain !== value && (PERCENT_ESCAPE.test(value) || FORM.test(value))
  if (!isEncoded) return isShaped ? shaped(form, value, isNumber) : form
  const placeholder = isShaped ? shaped(form, plain.replace(GAPS, ''), isNumber) : form
  const escaping = PERCENT_ESCAPE_TWICE.test(value) ? 'percent twice' : 'percent'
  return placeholder.replace(ENCODED_SIGN, (sign) => escapeValue(sign, escaping))
}
