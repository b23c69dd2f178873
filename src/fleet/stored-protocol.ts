// How a sidecar asks a hub about stored answers that other sidecars made: by the hashes of their
// ids, for one line of keys.

import type { Milliseconds } from '../core/clock.ts'
import { isObject } from '../core/json.ts'
import { readStoredAnswer, type StoredAnswer } from '../keys/stored-answer.ts'

/** Answers that one request may name. */
export const MAXIMUM_ASKED_ANSWERS = 100
/** Longest answer to it. */
export const MAXIMUM_STORED_BYTES = 2 * 1024 * 1024
/** Time for which the tokens of an answer are kept for the call that claimed them. */
export const CLAIM_MS: Milliseconds = 60_000

/**
 * What a hub knows of an answer: whose and where it is, that it was removed, that it is of another
 * line of keys, or nothing.
 */
export type SharedAnswer = StoredAnswer | 'removed' | 'foreign' | null

const STORED_PATH = '/fleet/v1/stored/'
const HASHES = `[\\w-]{43}(?:,[\\w-]{43}){0,${MAXIMUM_ASKED_ANSWERS - 1}}`
const PATH = new RegExp(`^${STORED_PATH}(${HASHES})$`)

/** The path of answers. @param hashes at most MAXIMUM_ASKED_ANSWERS, base64url */
export const storedPath = (hashes: readonly string[]): string => STORED_PATH + hashes.join(',')

/** Returns the hashes that a path names; null for any other path. */
export const hashesIn = (path: string): readonly string[] | null => PATH.exec(path)?.[1]?.split(',') ?? null

/** The query of a request: the line whose answers are asked for. */
export const keyLineQuery = (line: string): string => `?key_line=${encodeURIComponent(line)}`

/** Reads the answer to a request for so many answers; null when it is malformed. */
export function readSharedAnswers(text: string, count: number): readonly SharedAnswer[] | null {
  const answers = memberOf(text, 'answers')
  if (!Array.isArray(answers) || answers.length !== count) return null
  return answers.map((one) => (one === 'removed' || one === 'foreign' ? one : readStoredAnswer(one)))
}

/** Reads whether the call may count the tokens of an answer; null when the hub does not know it. */
export function readClaim(text: string): boolean | null {
  const claimed = memberOf(text, 'claimed')
  return typeof claimed === 'boolean' ? claimed : null
}

/** Returns undefined for a text that is no object in JSON. */
function memberOf(text: string, name: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value[name] : undefined
  } catch {
    return undefined
  }
}
