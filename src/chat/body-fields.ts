// Checks the members of a request's body: how they are spelled, and which are refused.

import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { MODEL_PLACES } from './model-places.ts'
import { isRequestField } from './vocabulary.ts'

/** Fields that would choose the upstream or its credential; compared without case, `_` and `-`. */
const REFUSED_FIELDS = new Set(['baseurl', 'apibase', 'apikey', 'extraheaders'])

/**
 * Limits of an answer in tokens, and numbers of answers, by the names that servers read: of the
 * APIs, of llama.cpp, TabbyAPI, Ollama and those that pass on what Transformers reads.
 */
export const CAP_FIELDS: ReadonlySet<string> = new Set([
  ...['maxtokens', 'maxcompletiontokens', 'maxoutputtokens', 'maxtokenstosample'],
  ...['npredict', 'maxnewtokens', 'maxlength', 'numpredict', 'maxgenlen'],
])
export const CHOICES_FIELDS: ReadonlySet<string> = new Set(['n', 'bestof', 'ncmpl', 'numreturnsequences'])

/** What a server may read in the body of any API, besides the API's own fields. */
const COMMON_FIELDS: ReadonlySet<string> = new Set([
  ...REFUSED_FIELDS,
  ...MODEL_PLACES.map(([first]) => first),
  ...CAP_FIELDS,
  ...CHOICES_FIELDS,
  ...['extrabody', 'model', 'stream'],
])

/**
 * Reports whether a server may read a member of the body.
 * @param plain as `plainName` returns it
 */
export const isBodyField = (plain: string): boolean => isRequestField(plain) || COMMON_FIELDS.has(plain)

export const invalid = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_body', `${param}: ${message}`, { param })
export const missing = (param: string): GatewayError =>
  new GatewayError('missing_required_parameter', `${param} is required.`, { param })

/**
 * Returns the body as an object whose fields are spelled as the API spells them.
 * @param fields names of the API's fields, in lower case
 * @throws GatewayError `invalid_body`
 */
export function readBody(body: JsonValue, fields: ReadonlySet<string>): JsonObject {
  if (!isObject(body)) throw new GatewayError('invalid_body', 'The body must be a JSON object.')
  for (const name of Object.keys(body)) {
    const folded = foldName(name)
    const plain = plainName(name)
    if (plain === EXTRA_BODY) refuseKnownMembers(body[name], folded, fields)
    if (fields.has(name)) continue
    if (REFUSED_FIELDS.has(plain))
      throw invalid(folded, 'is not allowed; the gateway chooses the upstream and its credential.')
    // Some upstreams ignore the case of names and would read a field that was not scanned as one.
    if (fields.has(folded)) throw invalid(folded, 'must be written in lower case.')
  }
  return body
}

/** A member whose members some proxies and servers move to the body; compared as REFUSED_FIELDS. */
const EXTRA_BODY = 'extrabody'

/** Refuses members of `extra_body` that the API reads: there, nothing would check them. */
function refuseKnownMembers(extra: JsonValue | undefined, at: string, fields: ReadonlySet<string>): void {
  for (const name of isObject(extra) ? Object.keys(extra) : []) {
    const folded = foldName(name)
    if (fields.has(folded) || COMMON_FIELDS.has(plainName(name)))
      throw invalid(`${at}.${folded}`, `must be outside of ${at}, where it is checked.`)
  }
}

/**
 * Folds a name as upstreams that ignore case do (Go's encoding/json): `ſ` is s, the Kelvin sign k.
 */
export const foldName = (name: string): string => name.toUpperCase().toLowerCase()

/** The name of a member, folded, without what separates its words. */
export const plainName = (name: string): string =>
  PLAIN.test(name) ? name : foldName(name).replace(/[_-]/g, '')

const PLAIN = /^[a-z]+$/
