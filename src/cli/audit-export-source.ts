// An export as a place to read a log from, line by line: never more than a line is held.

import { createReadStream, existsSync, statSync } from 'node:fs'
import { MAX_LINE_BYTES, readLine } from '../audit/dump.ts'
import { type LogReader, type LogSource, SourceError } from '../store/source.ts'

const CHUNK_BYTES = 1024 ** 2
const LINE_FEED = 0x0a

export class ExportSource implements LogSource {
  readonly #file: string

  /** @throws SourceError when there is no such file */
  constructor(file: string) {
    if (!existsSync(file)) throw new SourceError(`${file} does not exist`)
    this.#file = file
  }

  async read(reader: LogReader): Promise<string | null> {
    const bytes = Math.max(1, statSync(this.#file).size)
    let done = 0
    let line = 0
    let rest: Buffer = Buffer.alloc(0)
    const stream = createReadStream(this.#file, { highWaterMark: CHUNK_BYTES })
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      let start = 0
      for (let end = text.indexOf(LINE_FEED); end >= 0; end = text.indexOf(LINE_FEED, start)) {
        const fault = takeLine(reader, text.subarray(start, end), ++line)
        if (fault !== null) return fault === '' ? null : fault
        start = end + 1
      }
      rest = Buffer.from(text.subarray(start))
      if (rest.length > MAX_LINE_BYTES) return `line ${line + 1}: the line is too long`
      done += chunk.length
      reader.progress(done / bytes)
    }
    const fault = rest.length === 0 ? null : takeLine(reader, rest, line + 1)
    return fault === '' ? null : fault
  }

  check(): string | null {
    return null
  }

  node(): void {
    // An export has the entries and nothing that was kept of their tree.
  }

  conclude(): string | null {
    return null
  }

  async close(): Promise<void> {}
}

/** What is wrong with the line; empty when the reader has seen enough, null to go on. */
function takeLine(reader: LogReader, line: Buffer, number: number): string | null {
  const read = readLine(line)
  if (typeof read === 'string') return `line ${number}: ${read}`
  if ('entry' in read) return reader.entry(read.entry, null) ? null : ''
  reader.checkpoint(read.checkpoint)
  return null
}
