// Represents a part of a text that grows from event to event, and replaces it in its event.

import type { JsonObject } from '../core/json.ts'
import type { Channel } from './channel.ts'
import { setMember, type Text } from './text.ts'

/** A part of a text that grows from chunk to chunk. */
export interface Delta {
  readonly choice: number
  readonly channel: Channel
  readonly encoding: 'plain' | 'json'
  /** True for a text that is scanned whole in each chunk, though some clients append later ones. */
  readonly whole: boolean
  readonly text: string
  /** Names of the members around it, as far as they are texts; also in `others`. */
  readonly names: readonly Text[]
  /** Call it before `commit`. */
  replace(text: string): void
}

/** Identifies a growing text, and says how it is written. */
type Place = Pick<Delta, 'choice' | 'channel' | 'encoding'>

/** A string in an object of a chunk. */
export class GrowingPiece implements Delta {
  readonly choice: number
  readonly channel: string
  readonly encoding: 'plain' | 'json'
  readonly text: string
  readonly names: readonly Text[]
  readonly #object: JsonObject
  readonly #key: string

  /** @param object it is the member `key` of this */
  constructor(
    { choice, channel, encoding }: Place,
    object: JsonObject,
    key: string,
    names: readonly Text[] = [],
  ) {
    this.choice = choice
    this.channel = channel
    this.encoding = encoding
    this.names = names
    this.text = object[key] as string
    this.#object = object
    this.#key = key
  }

  get whole(): boolean {
    return this.#key === 'name'
  }

  replace(text: string): void {
    setMember(this.#object, this.#key, text)
  }
}
