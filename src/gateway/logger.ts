// Structured logs: one JSON object a line on standard output, never content, never a secret.

import { pino } from 'pino'
import { systemClock } from '../core/clock.ts'
import { isoTime } from '../core/time.ts'

export type GatewayLogger = ReturnType<typeof createLogger>

/** Lines that are written without waiting for the turn's end, characters: more in one write gains nothing. */
const GATHERED_CHARACTERS = 16 * 1024
/** Lines that are kept while they cannot be written, bytes; what comes beyond is lost. */
const MAX_KEPT_BYTES = 8 * 1024 * 1024
const STDOUT = 1

/**
 * Writes the lines of one turn of the event loop together: a write of its own for each costs a busy gateway more than
 * making the line. Each write is synchronous, as pino's own are, so that whoever reads slowly slows the gateway and
 * loses nothing. A process that is killed loses the lines of the turn it was in; one that exits or crashes, none.
 * Where a write fails, as on a full disk, the calls go on and the lines wait for the next.
 * What a start has to say waits for its first line.
 */
export class TurnLines {
  readonly #destination = pino.destination({ dest: STDOUT, sync: true, maxLength: MAX_KEPT_BYTES })
  #lines = ''
  #begun = false
  #failing = false
  /** Whether lines were given up since that began. */
  #lossy = false

  constructor() {
    process.on('exit', () => this.#flush()).on('uncaughtExceptionMonitor', () => this.#flush())
    this.#destination
      .on('error', (error: NodeJS.ErrnoException) => this.#fail(error.code ?? error.message))
      .on('drop', () => this.#drop())
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

  #fail(reason: string): void {
    if (this.#failing) return
    this.#failing = true
    this.#destination.once('drain', () => this.#recover())
    console.error(
      `sidegate: log lines cannot be written (${reason}); ${MAX_KEPT_BYTES} bytes of them are kept`,
    )
  }

  /** The library tries nothing with a line that it gives up. */
  #drop(): void {
    this.#lossy = true
    try {
      this.#destination.flushSync()
    } catch {
      // There is no room yet.
    }
  }

  #recover(): void {
    console.error(`sidegate: log lines are written again; ${this.#lossy ? 'some are lost' : 'none is lost'}`)
    this.#failing = this.#lossy = false
  }
}

export const createLogger = (level: string, lines: TurnLines) =>
  pino(
    {
      level,
      // A time people can read, a level they can grep; the pod's name is the platform's to add.
      base: null,
      timestamp: () => `,"time":"${isoTime(systemClock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    lines,
  )
