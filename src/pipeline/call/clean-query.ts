// Checks the query of a call, which is forwarded without a scan.

import { isBodyField } from '../../chat/body-fields.ts'
import { GatewayError } from '../../core/errors.ts'
import type { RuleAction } from '../../core/rule-action.ts'
import { atOnce } from '../../core/steps.ts'
import { kindInName } from '../../detect/pii/clean-name.ts'
import type { Selection } from '../../policy/compile.ts'
import { findAnywhere } from '../scan/open-kinds.ts'

/** Clients send a flag or a version. */
const MAXIMUM_QUERY_CHARACTERS = 512
/** Servers agree on how they read these characters (RFC 3986 §3.4); some take `;` for `&`. */
const PLAIN = /^(?:[\w.~!$'()*,:@/?+=&[\]-]|%[\da-f]{2})*$/i
/** Parameters for credentials, without their separators. */
const CREDENTIALS =
  /^(?:x?(?:goog)?api(?:key|token)|key|(?:access|id|auth|bearer|session)?token|auth|authorization|bearer|(?:client)?secret|passw(?:or)?d|sig|signature|subscriptionkey|credentials?)$/

const refused = (message: string): GatewayError => new GatewayError('invalid_parameter', message)

/** The words of a name in small letters: some servers read `a[b]` and `a.b` as a member of `a`. */
const partsOf = (name: string): string[] =>
  name
    .toLowerCase()
    .replaceAll(/[_-]/g, '')
    .split(/[^a-z\d]+/)

/**
 * Returns the query to forward, with its `?`; '' for none.
 * @param search the query without `?`
 * @throws GatewayError `invalid_parameter` for one that is too long, that servers read in different
 *   ways, or that may hold personal data, a credential or what belongs in the body
 */
export function cleanQuery(search: string): string {
  if (search === '') return ''
  if (search.length > MAXIMUM_QUERY_CHARACTERS)
    throw refused(`The query is longer than ${MAXIMUM_QUERY_CHARACTERS} characters.`)
  if (!PLAIN.test(search)) throw refused('The query has a character that must be percent-encoded.')
  for (const [name, value] of new URLSearchParams(search)) {
    const plain = name.toLowerCase().replaceAll(/[^a-z\d]/g, '')
    if (CREDENTIALS.test(plain))
      throw refused('The query has a parameter for a credential, which is not forwarded.')
    if (partsOf(name).some(isBodyField) || isBodyField(plain))
      throw refused('The query has a parameter that belongs in the body, where it is checked.')
    if (readingsOf(name, value).some((text) => kindInName(text) !== null))
      throw refused('The query must hold no personal data and no credential: it is forwarded without a scan.')
  }
  return `?${search}`
}

const readingsOf = (name: string, value: string): readonly string[] => [
  name,
  value,
  `${name}=${value}`,
  `${name}: ${value}`,
]

/**
 * Checks a query of `cleanQuery` by the rules of its call.
 * @throws GatewayError `invalid_parameter` for one that holds what a rule blocks or replaces in any
 *   part of a prompt
 */
export function checkQuery(search: string, selection: Selection): void {
  if (search === '') return
  for (const [name, value] of new URLSearchParams(search)) {
    if (readingsOf(name, value).some((text) => isGoverned(text, selection)))
      throw refused('The query must hold nothing that a rule blocks or replaces: it is forwarded as it is.')
  }
}

const UNCHANGING: ReadonlySet<RuleAction> = new Set(['allow', 'monitor'])

/** Reports whether a rule blocks or replaces a part of a text. */
function isGoverned(text: string, selection: Selection): boolean {
  const openKinds = selection.openKinds('request')
  const replaced = selection.replacedKeywords('request')
  const keywords = selection.keywords('request')
  if (replaced !== null && atOnce(findAnywhere(replaced, text)).length > 0) return true
  const hits = keywords === null ? [] : atOnce(keywords.matcher.matchSteps(text))
  if (hits.some(({ pattern }) => keywords!.rules[pattern]!.action === 'block')) return true
  const values = openKinds === null ? [] : atOnce(findAnywhere(openKinds, text))
  return values.some(({ kind, start, end }) => {
    const { action } = selection.piiValue(kind, 'user', text.slice(start, end))
    return !UNCHANGING.has(action)
  })
}
