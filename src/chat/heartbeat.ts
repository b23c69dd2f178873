// Recognises the data of events that keep a connection alive and hold no answer.

import type { JsonObject } from '../core/json.ts'

/** Longest data in UTF-16 units. Longer data may hold an answer. */
const MAXIMUM_UNITS = 256

/** Words that servers send as data, as a type or as the name of an event. */
const WORD = /^(?:ping|pong|heart[-_ ]?beat|keep[-_ ]?alive|no-?op|null|undefined)$/i
/** Marks around such a word: quotes, brackets. */
const MARKS = /^["'[(<]+|["'\])>]+$/g
/** A comment of the server that its framework made data. It quotes nothing. */
const COMMENT = /^:[^{}[\]"]*$/
const EVENT_NAME = /^event: ?(.*)$/gm

/** Members that an answer or its error has. */
const ANSWER = ['choices', 'error', 'usage'] as const
/** Members that name the kind of an event. */
const KINDS = ['type', 'event', 'object'] as const

/**
 * Reports whether an event only keeps the connection alive: blank, `null`, an empty list or object,
 * a word such as `ping`, or a comment as data. An error is not one.
 * @param body the data when it is a JSON object, else null
 */
export function isHeartbeat(data: string, body: JsonObject | null, otherLines: string): boolean {
  if (data.length > MAXIMUM_UNITS || (body !== null && ANSWER.some((name) => Object.hasOwn(body, name)))) {
    return false
  }
  const name = [...otherLines.matchAll(EVENT_NAME)].at(-1)?.[1]?.trim() ?? ''
  if (name.toLowerCase() === 'error') return false
  if (WORD.test(name)) return true
  return body === null ? isIdle(data.trim()) : isIdleObject(body)
}

function isIdle(text: string): boolean {
  const word = text.replaceAll(MARKS, '').trim()
  return word === '' || WORD.test(word) || COMMENT.test(text)
}

function isIdleObject(body: JsonObject): boolean {
  if (Object.keys(body).length === 0) return true
  return KINDS.some((name) => typeof body[name] === 'string' && WORD.test(body[name]))
}
