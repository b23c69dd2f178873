// Reads the body of an answer as received: its JSON, and the reason in it. Decides nothing.

import { isUtf8 } from 'node:buffer'
import { parseReceived } from '../../chat/strict-json.ts'
import { isObject, type JsonObject } from '../../core/json.ts'

/** Parses an answer. A list of one object counts as that object; Google sends its errors so. */
export function parseAnswer(received: Buffer): {
  readonly body: JsonObject | null
  readonly isList: boolean
} {
  try {
    // Some proxies prepend a byte order mark; a parser may ignore it (RFC 8259 §8.1).
    const body = parseReceived(received.toString('utf8').replace(/^\ufeff/, ''))
    const isList = Array.isArray(body) && body.length === 1
    const only = isList ? body[0] : body
    return { body: isObject(only) ? only : null, isList }
  } catch {
    // The parser's message quotes the answer.
    return { body: null, isList: false }
  }
}

/** Longest reason. A longer body is usually a page of a proxy; its status says enough. */
const MAXIMUM_REASON_CHARACTERS = 4096
const PAGE = /^</

/**
 * Returns why an upstream refuses, from plain text or JSON that is not an object; '' without a
 * reason.
 */
export function reasonIn(received: Buffer): string {
  const text = isUtf8(received) ? received.toString('utf8').trim() : ''
  if (text.length > MAXIMUM_REASON_CHARACTERS || PAGE.test(text)) return ''
  try {
    const value = parseReceived(text)
    // Serialise it again: escapes would hide findings.
    return typeof value === 'string' ? value : JSON.stringify(value)
  } catch {
    return text
  }
}
