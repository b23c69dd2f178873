// Random edits of a file, as an attacker or a bad disk makes them: bytes removed, others inserted.

import fc from 'fast-check'

interface Edit {
  readonly at: number
  readonly drop: number
  readonly insert: Buffer
}

/**
 * Returns one to four edits of a text of this length.
 * @param pieces texts to insert, besides random bytes
 */
export function anyEdits(length: number, pieces: readonly string[]): fc.Arbitrary<Edit[]> {
  const insert = fc.oneof(
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(...pieces).map((piece) => Buffer.from(piece)),
  )
  const edit = fc.record({ at: fc.nat(length), drop: fc.nat(200), insert })
  return fc.array(edit, { minLength: 1, maxLength: 4 })
}

export const edited = (bytes: Buffer, edits: readonly Edit[]): Buffer =>
  edits.reduce<Buffer>(
    (changed, { at, drop, insert }) =>
      Buffer.concat([changed.subarray(0, at), insert, changed.subarray(at + drop)]),
    bytes,
  )
