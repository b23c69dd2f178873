// Reads the inputs of `sidegate audit verify`: public keys, kept checkpoints, and an export on
// standard input.

import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { readVerifier } from '../audit/note.ts'
import { parseObject, type TrustedKey } from '../audit/survey.ts'
import { SourceError } from '../store/verification/log-source.ts'

const OPENING_BRACE = 0x7b
const PEM = /-----BEGIN [^-]+-----[^-]*-----END [^-]+-----/g

function readInput(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new SourceError(
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code}); check the path and its permissions`,
    )
  }
}

/**
 * Reads the trusted public keys in a file.
 * @throws SourceError when it has none, or other content
 */
export function readKeys(file: string): TrustedKey[] {
  const text = readInput(file).toString('utf8')
  try {
    // PEM has no name: the key is trusted under the name of any log it signed.
    const unnamed = (text.match(PEM) ?? []).map((pem) => ({
      name: null,
      key: readVerifier(pem, 'sidegate').key,
    }))
    const lines = text.replaceAll(PEM, '').split('\n')
    const named = lines.filter((line) => line.trim() !== '').map((line) => readVerifier(line, ''))
    if (unnamed.length + named.length === 0)
      throw new Error('it has none; give PEM or signed-note verifier keys')
    return [...unnamed, ...named]
  } catch (error) {
    throw new SourceError(`${file} holds no public key: ${(error as Error).message}`)
  }
}

/**
 * Reads the signed notes in a file: one note, one JSON object with `checkpoint`, or JSON Lines such
 * as the gateway's own log.
 * @throws SourceError when it has none
 */
export function readNotes(file: string): (string | Buffer)[] {
  const bytes = readInput(file)
  // A note begins with its origin, which is never a brace.
  if (bytes[0] !== OPENING_BRACE) return [bytes]
  const whole = parseObject(bytes)
  const lines = bytes.toString('utf8').split('\n')
  const objects = whole === null ? lines.map((line) => parseObject(Buffer.from(line))) : [whole]
  const notes = objects.map((object) => object?.['checkpoint']).filter((note) => typeof note === 'string')
  if (notes.length === 0)
    throw new SourceError(
      `${file} holds no checkpoint; give a signed note, or JSON with the note as "checkpoint"`,
    )
  return notes
}

/** A private copy of standard input, because a log is read twice. */
export class Spool {
  readonly file: string
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
    this.file = join(folder, 'export.jsonl')
  }

  static async read(input: NodeJS.ReadableStream): Promise<Spool> {
    const spool = new Spool(mkdtempSync(join(tmpdir(), 'sidegate-audit-')))
    // The copy may hold personal data and must not outlive the command. The signal is raised again.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => {
        spool.remove()
        process.kill(process.pid, signal)
      })
    }
    try {
      await pipeline(input, createWriteStream(spool.file, { mode: 0o600 }))
      return spool
    } catch (error) {
      spool.remove()
      throw new SourceError(
        `standard input cannot be read or stored (${(error as Error).message}); TMPDIR names the folder of the copy`,
      )
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
