// Detects whether everything that a command wrote to standard output was written.

import { writeSync } from 'node:fs'
import { Socket } from 'node:net'

const STDOUT = 1
/** Errors of a reader that has closed the pipe, as `head` does. */
const READER_GONE: ReadonlySet<unknown> = new Set(['EPIPE', 'ECONNRESET'])

export class Output {
  #error: NodeJS.ErrnoException | null = null

  /** To be created before anything is written. */
  constructor() {
    process.stdout.on('error', (error) => (this.#error ??= error))
    // Node writes to a file once and ignores a partial write.
    if (!(process.stdout instanceof Socket)) writeWhole(process.stdout)
  }

  /**
   * Resolves once everything is written, with null, or with the reason of a failure. A closed pipe
   * is no failure.
   */
  async end(): Promise<string | null> {
    const last = await new Promise<Error | null | undefined>((resolve) => process.stdout.write('', resolve))
    const error = this.#error ?? last ?? null
    if (error === null || READER_GONE.has((error as NodeJS.ErrnoException).code)) return null
    return `standard output cannot be written (${(error as NodeJS.ErrnoException).code ?? error.message}); the output is incomplete`
  }
}

function writeWhole(stream: NodeJS.WriteStream): void {
  stream._write = (chunk: Buffer, _encoding, done) => {
    try {
      for (let at = 0; at < chunk.length; ) at += writeSync(STDOUT, chunk, at)
    } catch (error) {
      done(error as Error)
      return
    }
    done()
  }
}
