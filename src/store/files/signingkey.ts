// The checkpoint signing key of a gateway that has none configured: generated once, in the data
// folder, readable by its owner.

import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSigner } from '../../audit/note.ts'
import { writeOnce } from './private-file.ts'

export const SIGNING_KEY_FILE = 'signing-key.pem'

/**
 * Returns the key in a data folder; generates it if there is none. Ed25519, PKCS#8, PEM.
 * @throws the file system's error, or an Error with the remedy when the file holds no such key
 */
export function ownSigningKey(folder: string): string {
  const file = join(folder, SIGNING_KEY_FILE)
  if (!existsSync(file)) writeOnce(file, newSigningKey())
  const pem = readFileSync(file, 'utf8')
  try {
    readSigner('any', pem)
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
