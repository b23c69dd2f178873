// Writes released texts into new events of a stream, and their logged form into the logged answer.
// Decides nothing: its callers know what is safe.

import type { StreamAssembler, StreamReader } from '../../chat/api-format.ts'
import type { Channel } from '../../chat/channel.ts'
import { encodeEvent } from '../../chat/sse.ts'
import type { JsonObject } from '../../core/json.ts'
import type { ScanOutput } from '../scan/scan-output.ts'

/** An event as text, in case its data does not change, and its lines other than data. */
export interface Written {
  readonly raw: string
  readonly otherLines: string
}

export class StreamWriter {
  readonly #reader: StreamReader
  /** The last chunk in its logged form; new events copy its id, model and time. */
  envelope: JsonObject = {}

  /** @param reader of the stream, whose form the new events have */
  constructor(reader: StreamReader) {
    this.#reader = reader
  }

  /** The logged answer so far. */
  get assembler(): StreamAssembler {
    return this.#reader.assembler
  }

  /** Returns an event with these texts of one choice; '' when they are all empty. */
  send(choice: number, outputs: readonly (readonly [Channel, ScanOutput])[]): string {
    const released = outputs.filter(([, { sent }]) => sent !== '')
    if (released.length === 0) return ''
    const chunkOf = (form: keyof ScanOutput) =>
      this.#reader.flush(
        this.envelope,
        choice,
        released.map(([channel, output]) => [channel, output[form]]),
      )
    this.assembler.add(chunkOf('logged'))
    return this.#encode(chunkOf('sent'))
  }

  /** Returns an event that ends a choice. @param complete adds members to the event */
  sendEnd(choice: number, reason: string, complete: (chunk: JsonObject) => void): string {
    const chunk = this.#reader.end(this.envelope, choice, reason)
    complete(chunk)
    this.assembler.add(chunk)
    return this.#encode(chunk)
  }

  #encode(chunk: JsonObject): string {
    this.#reader.number(chunk)
    return encodeEvent(this.#reader.eventLine(chunk), JSON.stringify(chunk))
  }

  /** Adds to a text of the logged answer. */
  log(choice: number, channel: Channel, text: string): void {
    if (!this.assembler.grow(choice, channel, text))
      this.assembler.add(this.#reader.flush(this.envelope, choice, [[channel, text]]))
  }
}
