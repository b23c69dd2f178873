// Writes the log: one JSON object a line on standard output, without content and secrets.

import { pino } from 'pino'
import { systemClock } from '../core/clock.ts'
import { isoTime } from '../core/time.ts'
import { LineWriter } from './line-writer.ts'

export type GatewayLogger = ReturnType<typeof createLogger>

/** Characters after which lines do not wait for the end of the turn; larger writes gain nothing. */
const GATHERED_CHARACTERS = 16 * 1024

/** Takes whole lines of the log, in order. */
export interface LogOutput {
  write(lines: string): void
}

/**
 * Writes the lines of one turn of the event loop together, because a write for each line costs a
 * busy gateway more than formatting it. A reader that stops reading delays no call: see LineWriter.
 * A killed process loses the lines of its last turn; one that exits or crashes loses none that the
 * reader takes. Lines before `begin` are held, because `listening` is the first line of a log.
 */
export class TurnLines {
  /** Called when lines are dropped, with their number. */
  onDrop: (lines: number) => void = () => {}
  /** Called when everything that waited is written, with the number of lines dropped before. */
  onRecover: (dropped: number) => void = () => {}
  readonly #output: LogOutput
  #lines = ''
  #begun = false

  /** @param output standard output by default, which takes the last lines when the process ends */
  constructor(output?: LogOutput) {
    this.#output = output ?? this.#standardOutput()
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
    if (lines !== '') this.#output.write(lines)
  }

  #standardOutput(): LogOutput {
    const writer = new LineWriter({
      onDrop: (lines) => this.onDrop(lines),
      onRecover: (dropped) => this.onRecover(dropped),
    })
    const end = () => {
      this.#flush()
      writer.end()
      // Reports dropped lines.
      this.#flush()
    }
    process.on('exit', end).on('uncaughtExceptionMonitor', end)
    return writer
  }
}

export function createLogger(level: string, lines: TurnLines) {
  const logger = pino(
    {
      level,
      // Readable time and level; the platform adds the pod's name.
      base: null,
      timestamp: () => `,"time":"${isoTime(systemClock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    lines,
  )
  lines.onRecover = (dropped) => {
    logger.error({ dropped }, 'log lines were dropped while standard output took none')
  }
  return logger
}
