// Reads a log from an export, line by line; holds one line at a time.

import { accessSync, constants, createReadStream, statSync } from 'node:fs'
import { maxLineBytes, readLine } from '../../audit/dump.ts'
import { LineSplitter, LongLineError } from '../../audit/lines.ts'
import type { LogSurvey } from '../../audit/survey.ts'
import {
  type LogReader,
  type LogSource,
  missingBeginning,
  type ReadResult,
  SourceError,
} from './log-source.ts'

const CHUNK_BYTES = 1024 ** 2
const SPACES: ReadonlySet<number> = new Set([0x09, 0x0d, 0x20])

function whyNotRead(file: string): string | null {
  try {
    if (!statSync(file).isFile())
      return 'is not a regular file; to read an export from a pipe, use --export -'
    accessSync(file, constants.R_OK)
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`
  }
}

export class ExportSource implements LogSource {
  readonly #file: string
  readonly #partial: boolean

  /**
   * @param partial whether to accept a part of a log, whose beginning is missing
   * @throws SourceError when the file does not exist or cannot be read twice
   */
  constructor(file: string, partial = false) {
    const reason = whyNotRead(file)
    if (reason !== null) throw new SourceError(`${file} ${reason}`)
    this.#file = file
    this.#partial = partial
  }

  /** Reads the whole file: prune entries and checkpoints follow the entries they describe. */
  async survey(survey: LogSurvey, progress: (done: number) => void): Promise<string | null> {
    let firstEntry: string | null = null
    await this.read({
      entry: ({ bytes, hash }) => {
        firstEntry ??= hash
        survey.addEntry(bytes)
        return true
      },
      exchange: () => {},
      checkpoint: (note) => survey.addCheckpoint(note, null),
      progress,
    })
    return firstEntry
  }

  async read(reader: LogReader): Promise<string | null> {
    const bytes = Math.max(1, statSync(this.#file).size)
    const lines = new LineSplitter(maxLineBytes)
    const taker = new LineTaker(reader)
    let done = 0
    const stream = createReadStream(this.#file, { highWaterMark: CHUNK_BYTES })
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        for (const line of lines.push(chunk)) {
          const fault = taker.take(line)
          if (fault !== null) return fault === '' ? null : fault
        }
        done += chunk.length
        reader.progress(done / bytes)
      }
    } catch (error) {
      if (!(error instanceof LongLineError)) throw error
      return `line ${taker.lines + 1}: ${error.message}`
    }
    const rest = lines.end()
    const fault = rest === null ? null : taker.take(rest)
    return fault === '' ? null : fault
  }

  checkEntry(): string | null {
    return null
  }

  /** An export holds no tree nodes. */
  matchesStoredNode(): boolean {
    return true
  }

  wasPruned(): boolean {
    return false
  }

  checkWhole({ beginning, firstSeq }: ReadResult): string | null {
    return beginning === 'unanchored' && !this.#partial ? missingBeginning(firstSeq) : null
  }

  async close(): Promise<void> {}
}

/** Passes lines to a reader, and counts them. */
class LineTaker {
  lines = 0
  readonly #reader: LogReader
  /** Number of the first blank line; null without any. */
  #blankLine: number | null = null

  constructor(reader: LogReader) {
    this.#reader = reader
  }

  /**
   * Returns the line's fault; empty when the reader stops, null to continue. Editors and shells add
   * blank lines to the end of a file; elsewhere they are a fault.
   */
  take(line: Buffer): string | null {
    this.lines++
    if (isBlank(line)) {
      this.#blankLine ??= this.lines
      return null
    }
    if (this.#blankLine !== null) return `line ${this.#blankLine}: the line is blank, and others follow it`
    const read = readLine(line)
    if (typeof read === 'string') return `line ${this.lines}: ${read}`
    if ('entry' in read) return this.#reader.entry(read.entry, null) ? null : ''
    if ('exchange' in read) this.#reader.exchange(read.exchange)
    else this.#reader.checkpoint(read.checkpoint)
    return null
  }
}

/** Reports whether a line holds spaces, tabs and carriage returns only. */
const isBlank = (line: Buffer): boolean => line.every((byte) => SPACES.has(byte))
