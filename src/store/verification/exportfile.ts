// Reads a log from an export, line by line; holds one line at a time.

import { accessSync, constants, createReadStream, statSync } from 'node:fs'
import { maxLineBytes, readLine } from '../../audit/dump.ts'
import { LineSplitter, LongLineError } from '../../audit/lines.ts'
import type { LogSurvey } from '../../audit/survey.ts'
import { type LogReader, type LogSource, SourceError } from './log-source.ts'

const CHUNK_BYTES = 1024 ** 2

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

  /** @throws SourceError when the file does not exist or cannot be read twice */
  constructor(file: string) {
    const reason = whyNotRead(file)
    if (reason !== null) throw new SourceError(`${file} ${reason}`)
    this.#file = file
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
    let done = 0
    let number = 0
    const stream = createReadStream(this.#file, { highWaterMark: CHUNK_BYTES })
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        for (const line of lines.push(chunk)) {
          const fault = takeLine(reader, line, ++number)
          if (fault !== null) return fault === '' ? null : fault
        }
        done += chunk.length
        reader.progress(done / bytes)
      }
    } catch (error) {
      if (!(error instanceof LongLineError)) throw error
      return `line ${number + 1}: ${error.message}`
    }
    const rest = lines.end()
    const fault = rest === null ? null : takeLine(reader, rest, number + 1)
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

  checkWhole(): string | null {
    return null
  }

  async close(): Promise<void> {}
}

/** Returns the line's fault; empty when the reader stops, null to continue. */
function takeLine(reader: LogReader, line: Buffer, number: number): string | null {
  const read = readLine(line)
  if (typeof read === 'string') return `line ${number}: ${read}`
  if ('entry' in read) return reader.entry(read.entry, null) ? null : ''
  if ('exchange' in read) reader.exchange(read.exchange)
  else reader.checkpoint(read.checkpoint)
  return null
}
