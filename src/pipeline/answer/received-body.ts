// Reads the body of an answer as received: its JSON, and the reason in it. Decides nothing.

import { isUtf8 } from 'node:buffer'
import { findsDuplicateKeys, parseReceived, parseReceivedSteps } from '../../chat/strict-json.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { atOnce, type Steps } from '../../core/steps.ts'

/** An answer as received. */
interface ReceivedAnswer {
  /** Null when it is not a JSON object. */
  readonly body: JsonObject | null
  readonly isList: boolean
}

/** Parses an answer. A list of one object counts as that object; Google sends its errors so. */
export const parseAnswer = (received: Buffer): ReceivedAnswer => atOnce(parseText(decodeAnswer(received)))

/**
 * Works like `parseAnswer`, in steps. `isPlain` says whether every parser reads the bytes alike:
 * they are UTF-8 without duplicate keys.
 */
export function* parseAnswerSteps(received: Buffer): Steps<ReceivedAnswer & { readonly isPlain: boolean }> {
  const text = decodeAnswer(received)
  yield
  const parsed = yield* parseText(text)
  yield
  const { body, isList } = parsed
  const isPlain =
    body !== null && isUtf8(received) && !(yield* findsDuplicateKeys(text, isList ? [body] : body))
  return { ...parsed, isPlain }
}

/** Some proxies prepend a byte order mark; a parser may ignore it (RFC 8259 §8.1). */
export const decodeAnswer = (received: Buffer): string => received.toString('utf8').replace(/^\ufeff/, '')

function* parseText(text: string): Steps<ReceivedAnswer> {
  try {
    const body = yield* parseReceivedSteps(text)
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
