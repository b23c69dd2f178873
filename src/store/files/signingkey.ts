// Private keys that a gateway generates for itself, in the data folder, readable by its owner. One
// signs checkpoints when none is configured, one signs what a sidecar shows to a hub.

import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSigner } from '../../audit/note.ts'
import { writeOnce } from './private-file.ts'

export const SIGNING_KEY_FILE = 'signing-key.pem'
const SIDECAR_KEY_FILE = 'sidecar-key.pem'

/** Returns the key for checkpoints. @throws as `ownKey` */
export const ownSigningKey = (folder: string): string => ownKey(folder, SIGNING_KEY_FILE)

/** Returns the key of a sidecar that joins with a token. @throws as `ownKey` */
export const ownSidecarKey = (folder: string): string => ownKey(folder, SIDECAR_KEY_FILE)

/**
 * Returns the key in a data folder; generates it if there is none. Ed25519, PKCS#8, PEM.
 * @throws the file system's error, or an Error with the remedy when the file holds no such key
 */
function ownKey(folder: string, name: string): string {
  const file = join(folder, name)
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
