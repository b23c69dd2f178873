// Names of end users and of runs apart from clear text: a keyed hash, which alone tells nothing of
// the name.

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

/** HMAC-SHA-256 truncated to 128 bits: no two users of a log share it. */
export const USER_HASH_BYTES = 16
const HASH_IN_HEX = /^[0-9a-f]{32}$/

/** Keys that Node has prepared. To prepare bytes for each hash takes longer than the hash. */
const prepared = new WeakMap<Buffer, KeyObject>()

function preparedKey(key: Buffer): KeyObject {
  let found = prepared.get(key)
  if (found === undefined) {
    found = createSecretKey(key)
    prepared.set(key, found)
  }
  return found
}

/** Hashes a user as the client names it. @param key whose bytes do not change */
export const hashUser = (key: Buffer, value: string): Buffer =>
  createHmac('sha256', preparedKey(key)).update(value).digest().subarray(0, USER_HASH_BYTES)

/** Set before the name of a run, so that no run has the hash of a user. */
const RUN_DOMAIN = 'sidegate run\n'

/** Hashes a run as a call names it, in hex. */
export const hashRun = (key: Buffer, name: string): string => hashUser(key, RUN_DOMAIN + name).toString('hex')

/** Reports whether a text can be the hash of a user, in hex. */
export const isUserHash = (text: string): boolean => HASH_IN_HEX.test(text)

/** Returns a user for people: the clear text if there is any, else the hash in hex. */
export const userName = (hash: Buffer, clear: string | null): string =>
  clear === null || clear === '' ? hash.toString('hex') : clear
