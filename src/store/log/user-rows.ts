// The rows that name the end user of a call, apart from its entry, so that erasure removes them.
// They hold a keyed hash, which alone tells nothing about the user, and clear text only if asked.

import { hashUser, isUserHash, USER_HASH_BYTES, userName } from '../../audit/user-hash.ts'
import { combinationsOfUser } from '../rollup/combinations.ts'
import { joinKey, readU64, u64 } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'

/** Hash, ordinal, then the clear text. */
const CLEAR_AT = USER_HASH_BYTES + 8
const NO_VALUE = Buffer.from([0])

/** The end user of a call, as stored. */
export interface StoredUser {
  readonly hash: Buffer
  /** Null unless the configuration asks for clear text. */
  readonly clear: string | null
}

/**
 * Writes the user of a call; runs inside a transaction.
 * @param ordinal of the call among the usage entries
 */
export function writeUser(
  { users, usercalls }: StoreTables,
  seq: number,
  ordinal: number,
  { hash, clear }: StoredUser,
): void {
  const call = joinKey(hash, u64(ordinal))
  users.put(u64(seq), clear === null ? call : joinKey(call, Buffer.from(clear)))
  usercalls.put(call, NO_VALUE)
}

/** Removes the user of a call, if it has one; runs inside a transaction. */
export function removeUser({ users, usercalls }: StoreTables, seq: number): void {
  const row = users.get(u64(seq))
  if (row === undefined) return
  users.remove(u64(seq))
  usercalls.remove(row.subarray(0, CLEAR_AT))
}

export const hasUser = ({ users }: StoreTables, seq: number): boolean => users.get(u64(seq)) !== undefined

/** Returns the user of a call; null without one. */
export function readStoredUser({ users }: StoreTables, seq: number): StoredUser | null {
  const row = users.get(u64(seq))
  if (row === undefined) return null
  const clear = row.length > CLEAR_AT ? row.toString('utf8', CLEAR_AT) : null
  return { hash: row.subarray(0, USER_HASH_BYTES), clear }
}

/** Returns the user of a call for people: the clear text, else the hash in hex, else null. */
export function readUser(tables: StoreTables, seq: number): string | null {
  const user = readStoredUser(tables, seq)
  return user === null ? null : countedUser(user).user
}

/** Returns a user as rollups name it. */
export function countedUser({ hash, clear }: StoredUser): { readonly user: string; readonly hash: string } {
  return { user: userName(hash, clear), hash: hash.toString('hex') }
}

/**
 * Returns the hashes by which the calls of a user are found: those of the value as a client sends
 * it, or, if nobody has sent it, the value itself where it is the hash of a user.
 * @param keys all under which users were ever hashed: that of the data folder and that of a hub
 */
export function findUser(tables: StoreTables, keys: readonly Buffer[], value: string): Buffer[] {
  const hashes = keys.map((key) => hashUser(key, value))
  if (!isUserHash(value) || hashes.some((hash) => isKnown(tables, hash))) return hashes
  const named = Buffer.from(value, 'hex')
  return isKnown(tables, named) ? [named] : hashes
}

/** Rollups know a user longer than the log. */
const isKnown = (tables: StoreTables, hash: Buffer): boolean =>
  hasCalls(tables, hash) || combinationsOfUser(tables, hash, 1).length > 0

export const hasCalls = (tables: StoreTables, hash: Buffer): boolean =>
  oldestCalls(tables, hash, 0, 1).length > 0

/** Returns ordinals of the calls of a user up to one, newest first. */
export const newestCalls = (
  { usercalls }: StoreTables,
  hash: Buffer,
  newest: number,
  limit: number,
): number[] =>
  usercalls
    .keys({ start: joinKey(hash, u64(newest)), end: hash, reverse: true, limit })
    .map((key) => readU64(key, USER_HASH_BYTES))

/** Returns ordinals of the calls of a user from one on, oldest first. */
export const oldestCalls = (
  { usercalls }: StoreTables,
  hash: Buffer,
  oldest: number,
  limit: number,
): number[] =>
  usercalls
    .keys({ start: joinKey(hash, u64(oldest)), end: joinKey(hash, u64(Number.MAX_SAFE_INTEGER)), limit })
    .map((key) => readU64(key, USER_HASH_BYTES))
