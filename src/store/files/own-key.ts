// Keys that a gateway makes for itself: random, made once in the data folder, readable by its
// owner.

import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeOnce } from './private-file.ts'

/** The key under which end users are hashed: without it none is found or erased by name. */
export const USER_KEY_FILE = 'user-key'
/** The key of pseudonyms: with another one every value has another name. */
export const PSEUDONYM_KEY_FILE = 'pseudonym-key'

const LOSSES = {
  [USER_KEY_FILE]: 'finds no earlier user',
  [PSEUDONYM_KEY_FILE]: 'gives every value another pseudonym',
}

type KeyFile = keyof typeof LOSSES

const KEY_BYTES = 32
const HEX = /^[0-9a-f]{64}\n$/

/**
 * Returns a key in a data folder; null if there is none.
 * @throws the file system's error, or an Error with the remedy when the file holds no such key
 */
export function readOwnKey(folder: string, name: KeyFile): Buffer | null {
  const file = join(folder, name)
  if (!existsSync(file)) return null
  const text = readFileSync(file, 'latin1')
  if (HEX.test(text)) return Buffer.from(text.trim(), 'hex')
  const remedy = `restore it from a backup; a new key, made after the file is removed, ${LOSSES[name]}`
  throw new Error(`${file} does not hold 64 hexadecimal digits; ${remedy}`)
}

/**
 * Returns a key in a data folder; makes it if there is none. It is durable on return.
 * @throws as `readOwnKey`
 */
export function ownKey(folder: string, name: KeyFile): Buffer {
  const known = readOwnKey(folder, name)
  if (known !== null) return known
  const key = randomBytes(KEY_BYTES)
  writeOnce(join(folder, name), `${key.toString('hex')}\n`)
  return key
}
