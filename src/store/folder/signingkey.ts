// The checkpoint signing key of a gateway that has none configured: generated once, in the data
// folder, readable by its owner.

import { generateKeyPairSync } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { readSigner } from '../../audit/note.ts'

export const SIGNING_KEY_FILE = 'signing-key.pem'
const FILE_MODE = 0o600

/** @throws TypeError or the parser's error unless it is an Ed25519 private key, PKCS#8, PEM */
export function checkSigningKey(pem: string): void {
  readSigner('any', pem)
}

/**
 * Returns the key in a data folder; generates it if there is none. Ed25519, PKCS#8, PEM.
 * @throws the file system's error, or an Error with the remedy when the file holds no such key
 */
export function ownSigningKey(folder: string): string {
  const file = join(folder, SIGNING_KEY_FILE)
  if (!existsSync(file)) writeWhole(file, newSigningKey())
  const pem = readFileSync(file, 'utf8')
  try {
    checkSigningKey(pem)
    return pem
  } catch (error) {
    const remedy = 'restore it from a backup, or remove the file to generate a new key'
    throw new Error(`${file} holds no Ed25519 private key; ${remedy}`, { cause: error })
  }
}

/** Returns a new key: Ed25519, PKCS#8, PEM. */
export function newSigningKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519')
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
}

/** Writes the file atomically: half a key would stop every later start. */
function writeWhole(file: string, text: string): void {
  const draft = `${file}.new`
  const handle = openSync(draft, 'w', FILE_MODE)
  try {
    writeSync(handle, text)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  renameSync(draft, file)
}
