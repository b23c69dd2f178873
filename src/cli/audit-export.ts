// `sidegate audit export` and `public-key`: what an auditor gets of a log, as JSON Lines at the
// speed of the reader, and the key that verifies its checkpoints.

import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { readSigner } from '../audit/note.ts'
import { systemClock } from '../core/clock.ts'
import { readConfig } from '../core/config.ts'
import { counted } from '../rulecheck/report.ts'
import type { Environment } from '../store/environment/journaled.ts'
import { ownSigningKey, SIGNING_KEY_FILE } from '../store/files/signingkey.ts'
import { type ExportOptions, exportChunks, type Omissions } from '../store/verification/log-export.ts'
import { SourceError } from '../store/verification/log-source.ts'
import { type CommandIo, type ExitCode, printProblems } from './command.ts'

const NOTHING_OMITTED: Omissions = { exchanges: 0, prunedSeq: null }

/**
 * Writes the export to `output`, no faster than it is read. A failed output ends the export without
 * an error; the owner of the output reports it.
 */
export async function exportLog(
  environment: Environment,
  options: ExportOptions,
  output: Writable,
): Promise<Omissions> {
  const failed = new AbortController()
  output.on('error', () => failed.abort())
  const chunks = exportChunks(environment, options)
  for (;;) {
    const { done, value } = chunks.next()
    if (done === true) return value
    await write(output, value, failed.signal)
    if (failed.signal.aborted) return NOTHING_OMITTED
    await nextTurn()
  }
}

/** Resolves once the output accepts more, or has failed. */
async function write(output: Writable, bytes: Buffer, failed: AbortSignal): Promise<void> {
  if (bytes.length === 0 || output.write(bytes)) return
  try {
    await once(output, 'drain', { signal: failed })
  } catch {
    // The output has failed, which the signal says.
  }
}

/** Describes the omissions for people, one sentence each. */
export function describeOmissions({ exchanges, prunedSeq }: Omissions): string[] {
  const sentences: string[] = []
  if (exchanges > 0) {
    sentences.push(
      `${counted(exchanges, 'stored exchange')} left out because they are too large or damaged; run sidegate audit verify`,
    )
  }
  if (prunedSeq !== null) {
    sentences.push(
      `entry ${prunedSeq} was pruned before it was written; the export ends before it; run the export again`,
    )
  }
  return sentences
}

const SETTING = 'audit.signingKey'

/**
 * Prints the public key as PEM (SPKI): that of audit.signingKey, or of the key that the gateway
 * made. Makes none.
 * @throws SourceError when there is no key
 */
export function printPublicKey(file: string, io: CommandIo): ExitCode {
  const { config, problems } = readConfig(file, io.env, systemClock)
  // Other secrets may be missing here; without this one the key would be another.
  const fatal = config === null ? problems : problems.filter(({ path }) => path === SETTING)
  if (config === null || fatal.length > 0) {
    printProblems(io, fatal, 'fix the configuration: it names the signing key')
    return 2
  }
  const { signingKey } = config.audit
  const pem = signingKey === null ? generatedKey(config.data.path) : signingKey.current()
  const from = signingKey === null ? config.data.path : SETTING
  io.out.write(publicKeyOf(pem, from))
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
