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

/**
 * Decodes a body. Holds some pieces at a time.
 * @throws NotDecodable, TooCompressed, and what `source` throws
 */
export async function* decode(source: AsyncIterable<Buffer>, coding: Coding): AsyncGenerator<Buffer> {
  const pieces = source[Symbol.asyncIterator]()
  const first = await pieces.next()
  if (first.done === true) return
  let received = 0
  let failure: unknown = null
  async function* coded() {
    try {
      for (let piece: IteratorResult<Buffer> = first; piece.done !== true; piece = await pieces.next()) {
        received += piece.value.length
        yield piece.value
      }
    } catch (error) {
      failure = error
      throw error
    }
  }
  const input = Readable.from(coded())
  const decoder = decoderOf(coding, first.value)
  input.on('error', (error) => decoder.destroy(error))
  input.pipe(decoder)
  let given = 0
  try {
    for await (const piece of decoder) {
      given += piece.length
      if (given > RATIO_FROM_BYTES && given > received * MAXIMUM_RATIO) throw new TooCompressed()
      yield piece
    }
  } catch (error) {
    if (failure !== null) throw failure
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
