// An export as a place to read a log from, line by line: never more than a line is held.

import { accessSync, constants, createReadStream, statSync } from 'node:fs'
import { maxLineBytes, readLine } from '../../audit/dump.ts'
import { LineSplitter, LongLineError } from '../../audit/lines.ts'
import type { LogSurvey } from '../../audit/survey.ts'
import { type LogReader, type LogSource, SourceError } from './log-source.ts'

const CHUNK_BYTES = 1024 ** 2

function whyNotRead(file: string): string | null {
  try {
    if (!statSync(file).isFile())
      return 'is not a regular file; an export that comes by a pipe is read by --export -'
    accessSync(file, constants.R_OK)
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`
  }
}

export class ExportSource implements LogSource {
  readonly #file: string

  /** @throws SourceError when there is no such file, or it cannot be read twice */
  constructor(file: string) {
    const reason = whyNotRead(file)
    if (reason !== null) throw new SourceError(`${file} ${reason}`)
    this.#file = file
  }

  /** Prune entries and checkpoints come after what they speak of, so that all of it is read for them. */
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

  /** An export has the entries and nothing that was kept of their tree. */
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

/** What is wrong with the line; empty when the reader has seen enough, null to go on. */
function takeLine(reader: LogReader, line: Buffer, number: number): string | null {
  const read = readLine(line)
  if (typeof read === 'string') return `line ${number}: ${read}`
  if ('entry' in read) return reader.entry(read.entry, null) ? null : ''
  if ('exchange' in read) reader.exchange(read.exchange)
  else reader.checkpoint(read.checkpoint)
  return null
}
