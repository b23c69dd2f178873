// `sidegate audit public-key`: prints the key that verifies the checkpoints of a gateway.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readSigner } from '../audit/note.ts'
import { systemClock } from '../core/clock.ts'
import { readConfig } from '../core/config.ts'
import { ownSigningKey, SIGNING_KEY_FILE } from '../store/files/signingkey.ts'
import { SourceError } from '../store/verification/log-source.ts'
import { type ExitCode, printProblems } from './command.ts'

const SETTING = 'audit.signingKey'

/**
 * Prints the public key as PEM (SPKI): that of audit.signingKey, or of the key that the gateway
 * made. Makes none.
 * @throws SourceError when there is no key
 */
export function printPublicKey(file: string): ExitCode {
  const { config, problems } = readConfig(file, process.env, systemClock)
  // Other secrets may be missing here; without this one the key would be another.
  const fatal = config === null ? problems : problems.filter(({ path }) => path === SETTING)
  if (config === null || fatal.length > 0) {
    printProblems(fatal, 'fix the configuration: it names the signing key')
    return 2
  }
  const { signingKey } = config.audit
  const pem = signingKey === null ? generatedKey(config.data.path) : signingKey.current()
  const from = signingKey === null ? config.data.path : SETTING
  process.stdout.write(publicKeyOf(pem, from))
  return 0
}

function generatedKey(folder: string): string {
  const file = join(folder, SIGNING_KEY_FILE)
  if (!existsSync(file))
    throw new SourceError(`there is no ${file}; start the gateway once, which makes it, or set ${SETTING}`)
  try {
    return ownSigningKey(folder)
  } catch (error) {
    throw new SourceError((error as Error).message, { cause: error })
  }
}

function publicKeyOf(pem: string, from: string): string {
  try {
    return readSigner('any', pem).verifier.key.export({ type: 'spki', format: 'pem' }).toString()
  } catch (error) {
    throw new SourceError(`${from} holds no Ed25519 private key (PKCS#8, PEM)`, { cause: error })
  }
}
