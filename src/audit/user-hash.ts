// Names of end users apart from their entries: a keyed hash, which alone tells nothing about the
// user.

import { createHmac } from 'node:crypto'

/** HMAC-SHA-256 truncated to 128 bits: no two users of a log share it. */
export const USER_HASH_BYTES = 16
const HASH_IN_HEX = /^[0-9a-f]{32}$/

/** Hashes a user as the client names it. */
export const hashUser = (key: Buffer, value: string): Buffer =>
  createHmac('sha256', key).update(value).digest().subarray(0, USER_HASH_BYTES)

/** Reports whether a text can be the hash of a user, in hex. */
export const isUserHash = (text: string): boolean => HASH_IN_HEX.test(text)

/** Returns a user for people: the clear text if there is any, else the hash in hex. */
export const userName = (hash: Buffer, clear: string | null): string =>
  clear === null || clear === '' ? hash.toString('hex') : clear
