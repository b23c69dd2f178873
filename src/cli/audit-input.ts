// What people hand to `sidegate audit verify`: keys, checkpoints they kept, an export on standard input.

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
    throw new SourceError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

/** The keys in a file, one of whose signatures counts. @throws SourceError when there is none, or something else, in it */
export function readKeys(file: string): TrustedKey[] {
  const text = readInput(file).toString('utf8')
  try {
    // PEM says nothing of a name: the key counts under the name of whatever log it signed.
    const unnamed = (text.match(PEM) ?? []).map((pem) => ({
      name: null,
      key: readVerifier(pem, 'sidegate').key,
    }))
    const lines = text.replaceAll(PEM, '').split('\n')
    const named = lines.filter((line) => line.trim() !== '').map((line) => readVerifier(line, ''))
    if (unnamed.length + named.length === 0) throw new Error('it is empty')
    return [...unnamed, ...named]
  } catch (error) {
    throw new SourceError(`${file} holds no public key: ${(error as Error).message}`)
  }
}

/**
 * The signed notes in a file: one as it is, or in JSON, as the API and the gateway's own log give them.
 * @throws SourceError when there is none in it
 */
export function readNotes(file: string): (string | Buffer)[] {
  const bytes = readInput(file)
  // A note begins with its origin, which is not a brace.
  if (bytes[0] !== OPENING_BRACE) return [bytes]
  const whole = parseObject(bytes)
  const lines = bytes.toString('utf8').split('\n')
  const objects = whole === null ? lines.map((line) => parseObject(Buffer.from(line))) : [whole]
  const notes = objects.map((object) => object?.['checkpoint']).filter((note) => typeof note === 'string')
  if (notes.length === 0) throw new SourceError(`${file} holds no checkpoint`)
  return notes
}

/** Standard input kept in a file of its own, for the owner only, because a log is read twice. */
export class Spool {
  readonly file: string
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
    this.file = join(folder, 'export.jsonl')
  }

  static async read(input: NodeJS.ReadableStream): Promise<Spool> {
    const spool = new Spool(mkdtempSync(join(tmpdir(), 'sidegate-audit-')))
    // It may hold what people wrote, and is not to outlive the command. The signal then does what it does.
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
      throw new SourceError(`standard input cannot be read (${(error as Error).message})`)
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
