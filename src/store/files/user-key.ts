// The key under which end users are hashed: random, made once in the data folder, readable by its
// owner. Without it no user that was hashed can be found or erased by name.

import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeOnce } from './private-file.ts'

export const USER_KEY_FILE = 'user-key'
const KEY_BYTES = 32
const HEX = /^[0-9a-f]{64}\n$/

/**
 * Returns the key in a data folder; null if there is none.
 * @throws the file system's error, or an Error with the remedy when the file holds no such key
 */
export function readUserKey(folder: string): Buffer | null {
  const file = join(folder, USER_KEY_FILE)
  if (!existsSync(file)) return null
  const text = readFileSync(file, 'latin1')
  if (HEX.test(text)) return Buffer.from(text.trim(), 'hex')
  const remedy = 'restore it from a backup; a new key, made after the file is removed, finds no earlier user'
  throw new Error(`${file} does not hold 64 hexadecimal digits; ${remedy}`)
}

/**
 * Returns the key in a data folder; makes it if there is none. It is durable on return.
 * @throws as `readUserKey`
 */
export function ownUserKey(folder: string): Buffer {
  const known = readUserKey(folder)
  if (known !== null) return known
  const key = randomBytes(KEY_BYTES)
  writeOnce(join(folder, USER_KEY_FILE), `${key.toString('hex')}\n`)
  return key
}
