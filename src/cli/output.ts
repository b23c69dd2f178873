// Standard output, as all commands that answer on it share it: whether all they said got there.

import { writeSync } from 'node:fs'
import { Socket } from 'node:net'

const STDOUT = 1
/** A reader that has seen enough, as `head` has. */
const READER_GONE: ReadonlySet<unknown> = new Set(['EPIPE', 'ECONNRESET'])

export class Output {
  #error: NodeJS.ErrnoException | null = null

  /** To be made before anything is written. */
  constructor() {
    process.stdout.on('error', (error) => (this.#error ??= error))
    // Into a file Node writes once and does not look at how much of it found room.
    if (!(process.stdout instanceof Socket)) writeWhole(process.stdout)
  }

  /** Resolves once all is written, with why it is not, or null. A reader that went away is no reason. */
  async end(): Promise<string | null> {
    const last = await new Promise<Error | null | undefined>((resolve) => process.stdout.write('', resolve))
    const error = this.#error ?? last ?? null
    if (error === null || READER_GONE.has((error as NodeJS.ErrnoException).code)) return null
    return `standard output cannot be written (${(error as NodeJS.ErrnoException).code ?? error.message})`
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
