// Finds hashes of passwords as crypt and its successors write them: `$2b$12$…`, `$argon2id$v=19$…`.

import type { Segment } from '../engine/segment.ts'
import { isHashBegun } from './hash-start.ts'

const SALTED = '[./A-Za-z0-9]'
const HASH = new RegExp(
  `(?:\\$2[abxy]?\\$\\d\\d\\$${SALTED}{53}|\\$(?:[156]|apr1)\\$(?:rounds=\\d{1,9}\\$)?${SALTED}{1,16}\\$${SALTED}{22,86}|` +
    `\\$[y7]\\$${SALTED}{2,16}\\$${SALTED}{8,64}\\$${SALTED}{30,86}|` +
    `\\$(?:argon2(?:id|i|d)|scrypt|pbkdf2-sha\\d{1,3})\\$(?:v=\\d{1,3}\\$)?[\\w=,]{1,40}\\$[A-Za-z0-9+/.]{8,88}\\$[A-Za-z0-9+/.]{16,128})(?![./A-Za-z0-9])`,
  'y',
)

/**
 * @param dollar where the hash may start
 * @returns end of the hash; 0 if there is none
 */
export function scanHash(segment: Segment, dollar: number): number {
  if (dollar < segment.end || !isHashBegun(segment.text, dollar)) return 0
  HASH.lastIndex = dollar
  const value = HASH.exec(segment.text)?.[0]
  if (value === undefined) return 0
  return segment.add('secret', dollar, dollar + value.length) ? dollar + value.length : 0
}
