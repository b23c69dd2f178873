// Reads a signed receipt: exactly the members that gateways write, each of its type. Accepts any
// bytes. Does not check what the values prove.

import { isUtf8 } from 'node:buffer'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { viewOf } from './verify.ts'

/**
 * Longest receipt to read, bytes. The longest entry takes twice its length in a JSON string, and
 * everything else some kilobytes.
 */
export const MAXIMUM_RECEIPT_BYTES = 1_048_576

/** What a receipt says. */
export interface ReceiptFields {
  readonly log: string
  readonly seq: number
  readonly hash: string
  /** Canonical form of the entry. */
  readonly entry: string
  readonly proof: {
    readonly seq: number
    readonly size: number
    readonly leaf_hash: string
    readonly root: string
    readonly proof: readonly string[]
  }
  readonly checkpoint: {
    /** The signed note. */
    readonly checkpoint: string
    readonly log: string
    readonly size: number
    readonly root: string
    readonly head: string | null
    readonly created_at: string | null
    /** A verifier key. */
    readonly public_key: string
  }
}

type ValueTest = (value: JsonValue) => boolean

const isText: ValueTest = (value) => typeof value === 'string' && value.isWellFormed()
const isCount: ValueTest = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isTextOrNull: ValueTest = (value) => value === null || isText(value)
const isTexts: ValueTest = (value) => Array.isArray(value) && value.every(isText)

/** The members of each object, by its path in the receipt. */
const MEMBERS: Readonly<Record<string, Readonly<Record<string, ValueTest>>>> = {
  '': { log: isText, seq: isCount, hash: isText, entry: isText, proof: isObject, checkpoint: isObject },
  proof: { seq: isCount, size: isCount, leaf_hash: isText, root: isText, proof: isTexts },
  checkpoint: {
    checkpoint: isText,
    log: isText,
    size: isCount,
    root: isText,
    head: isTextOrNull,
    created_at: isTextOrNull,
    public_key: isText,
  },
}
const MEMBER_COUNT = Object.values(MEMBERS).reduce((sum, members) => sum + Object.keys(members).length, 0)

/** A JSON string, with the colon after the name of a member. */
const STRING_OR_NAME = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g

/** Returns the receipt in these bytes, or what is wrong with it. */
export function readReceipt(bytes: Uint8Array): ReceiptFields | string {
  if (bytes.length > MAXIMUM_RECEIPT_BYTES) return `it is longer than ${MAXIMUM_RECEIPT_BYTES} bytes`
  if (!isUtf8(bytes)) return 'it is not UTF-8'
  const text = viewOf(bytes).toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'it is not JSON'
  }
  if (!isObject(value)) return 'it is not a JSON object'
  for (const [path, members] of Object.entries(MEMBERS)) {
    const fault = faultOfMembers(path === '' ? value : (value[path] as JsonObject), members)
    if (fault !== null) return `${path === '' ? '' : `${path}.`}${fault}`
  }
  // Parsers disagree on which of two equal names counts.
  if (countNames(text) !== MEMBER_COUNT) return 'a member occurs twice'
  return value as unknown as ReceiptFields
}

function faultOfMembers(object: JsonObject, members: Readonly<Record<string, ValueTest>>): string | null {
  for (const [name, test] of Object.entries(members)) {
    if (!Object.hasOwn(object, name)) return `${name} is missing`
    if (!test(object[name]!)) return `${name} is not of its type`
  }
  const isUnknown = Object.keys(object).some((name) => !Object.hasOwn(members, name))
  return isUnknown ? 'a member is not known' : null
}

const countNames = (text: string): number =>
  [...text.matchAll(STRING_OR_NAME)].filter(([, colon]) => colon !== undefined).length
