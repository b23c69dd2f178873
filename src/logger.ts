// Structured logs: one JSON object a line on standard output, never content, never a secret.

import { pino } from 'pino'

export type GatewayLogger = ReturnType<typeof createLogger>

/** Lines that are written without waiting for the turn's end, characters: more in one write gains nothing. */
const GATHERED_CHARACTERS = 16 * 1024
const STDOUT = 1

/**
 * Writes the lines of one turn of the event loop together: a write of its own for each costs a busy gateway more than
 * making the line. Each write is synchronous, as pino's own are, so that whoever reads slowly slows the gateway and
 * loses nothing. A process that is killed loses the lines of the turn it was in; one that exits or crashes, none.
 * What a start has to say waits for its first line.
 */
export class TurnLines {
  readonly #destination = pino.destination({ dest: STDOUT, sync: true })
  #lines = ''
  #begun = false

  constructor() {
    process.on('exit', () => this.#flush())
  }

  /** @param first writes the line that stands before those so far */
  begin(first: () => void): void {
    const before = this.#lines
    this.#lines = ''
    this.#begun = true
    first()
    this.write(before)
  }

  write(line: string): void {
    if (this.#lines === '' && this.#begun) setImmediate(() => this.#flush())
    this.#lines += line
    if (this.#lines.length >= GATHERED_CHARACTERS && this.#begun) this.#flush()
  }

  #flush(): void {
    const lines = this.#lines
    this.#lines = ''
    if (lines !== '') this.#destination.write(lines)
  }
}

export const createLogger = (level: string, lines: TurnLines) =>
  pino(
    {
      level,
      // A time people can read, a level they can grep; the pod's name is the platform's to add.
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    lines,
  )
