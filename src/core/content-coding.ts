// Decodes compressed bodies (RFC 9110 §8.4.1) as they arrive.

import { Readable, type Transform } from 'node:stream'
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'

/** Names of codings in `content-encoding`. */
export const CODINGS = ['gzip', 'deflate', 'br', 'zstd'] as const

export type Coding = (typeof CODINGS)[number]

/** Bytes of one decoded piece. */
const CHUNK_BYTES = 64 * 1024
/** JSON shrinks to a fiftieth at most; what was made to fill memory, to a thousandth. */
const MAXIMUM_RATIO = 200
/** Decoded bytes from which on the ratio counts. */
const RATIO_FROM_BYTES = 1024 * 1024
/** The method in the first byte of a zlib stream (RFC 1950 §2.2). */
const ZLIB_METHOD = 8

/** The bytes are not in the coding, or break off. */
export class NotDecodable extends Error {
  override readonly name = 'NotDecodable'
}

/** The bytes grow more than MAXIMUM_RATIO times. */
export class TooCompressed extends Error {
  override readonly name = 'TooCompressed'
}

/**
 * Reads a `content-encoding` field; `identity` for none, null for a coding that is not known or for
 * more than one.
 */
export function readCoding(field: string | undefined): Coding | 'identity' | null {
  const name = (field ?? 'identity')
    .trim()
    .toLowerCase()
    .replace(/^x-gzip$/, 'gzip')
  if (name === 'identity' || name === '') return 'identity'
  return CODINGS.find((coding) => coding === name) ?? null
}

/** The bytes before decoding. */
class CodedBytes {
  /** Bytes so far. */
  received = 0
  /** Why the source failed; null while it has not. */
  failure: unknown = null
  readonly #first: Buffer
  readonly #rest: AsyncIterator<Buffer>

  constructor(first: Buffer, rest: AsyncIterator<Buffer>) {
    this.#first = first
    this.#rest = rest
  }

  async *pieces(): AsyncGenerator<Buffer> {
    let piece: Buffer | null = this.#first
    try {
      while (piece !== null) {
        this.received += piece.length
        yield piece
        const next: IteratorResult<Buffer> = await this.#rest.next()
        piece = next.done === true ? null : next.value
      }
    } catch (error) {
      this.failure = error
      throw error
    }
  }
}

/**
 * Decodes a body. Holds some pieces at a time.
 * @throws NotDecodable, TooCompressed, and what `source` throws
 */
export async function* decode(source: AsyncIterable<Buffer>, coding: Coding): AsyncGenerator<Buffer> {
  const rest = source[Symbol.asyncIterator]()
  const first = await rest.next()
  if (first.done === true) return
  const coded = new CodedBytes(first.value, rest)
  const input = Readable.from(coded.pieces())
  const decoder = decoderOf(coding, first.value)
  input.on('error', (error) => decoder.destroy(error))
  input.pipe(decoder)
  let given = 0
  try {
    for await (const piece of decoder) {
      given += piece.length
      if (given > RATIO_FROM_BYTES && given > coded.received * MAXIMUM_RATIO) throw new TooCompressed()
      yield piece
    }
  } catch (error) {
    if (coded.failure !== null) throw coded.failure
    throw error instanceof TooCompressed ? error : new NotDecodable('', { cause: error })
  } finally {
    input.destroy()
    decoder.destroy()
  }
}

function decoderOf(coding: Coding, first: Buffer): Transform {
  const options = { chunkSize: CHUNK_BYTES }
  if (coding === 'gzip') return createGunzip(options)
  if (coding === 'br') return createBrotliDecompress(options)
  if (coding === 'zstd') return createZstdDecompress(options)
  // Some clients send the bare stream (RFC 1951) under this name.
  return ((first[0] ?? ZLIB_METHOD) & 0x0f) === ZLIB_METHOD
    ? createInflate(options)
    : createInflateRaw(options)
}
