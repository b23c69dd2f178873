// Writes the log: one JSON object a line on standard output, without content and secrets.

import { pino } from 'pino'
import { systemClock } from '../core/clock.ts'
import { isoTime } from '../core/time.ts'

export type GatewayLogger = ReturnType<typeof createLogger>

/** Characters after which lines do not wait for the end of the turn; larger writes gain nothing. */
const GATHERED_CHARACTERS = 16 * 1024
/** Bytes of lines kept while they cannot be written; later lines are lost. */
const MAX_KEPT_BYTES = 8 * 1024 * 1024
const STDOUT = 1

/**
 * Writes the lines of one turn of the event loop together, because a write for each line costs a
 * busy gateway more than formatting it. Writes are synchronous, as in pino: a slow reader slows the
 * gateway and loses nothing. A killed process loses the lines of its last turn; one that exits or
 * crashes loses none. When a write fails, as on a full disk, calls continue and the lines wait for
 * the next write. Lines before `begin` are held, because `listening` is the first line of a log.
 */
export class TurnLines {
  readonly #destination = pino.destination({ dest: STDOUT, sync: true, maxLength: MAX_KEPT_BYTES })
  #lines = ''
  #begun = false
  #failing = false
  /** Whether lines were lost since writing failed. */
  #lossy = false

  constructor() {
    process.on('exit', () => this.#flush()).on('uncaughtExceptionMonitor', () => this.#flush())
    this.#destination
      .on('error', (error: NodeJS.ErrnoException) => this.#fail(error.code ?? error.message))
      .on('drop', () => this.#drop())
  }

  /** Releases the held lines. @param first writes the line that precedes them */
  begin(first: () => void): void {
    const held = this.#lines
    this.#lines = ''
    this.#begun = true
    first()
    this.write(held)
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

  /** The library drops a line without another attempt to write. */
  #drop(): void {
    this.#lossy = true
    try {
      this.#destination.flushSync()
    } catch {
      // The disk is still full.
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
      // Readable time and level; the platform adds the pod's name.
      base: null,
      timestamp: () => `,"time":"${isoTime(systemClock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    lines,
  )
