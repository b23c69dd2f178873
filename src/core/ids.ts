// UUIDs (RFC 9562). The caller passes time and randomness.

import { createHash } from 'node:crypto'

/** Namespace of all name-based ids of this product. */
const NAMESPACE = Buffer.from('5b0c7a1e2f4d4c6b9a3e8d1f6c2b7e40', 'hex')
const UUID_BYTES = 16
const TIME_BYTES = 6
const IDS_AT_ONCE = 128

/** Returns a version 5 UUID: the same for the same name, in every process (RFC 9562 §5.5). */
export function uuidv5(name: string): string {
  const digest = createHash('sha1').update(NAMESPACE).update(name, 'utf8').digest()
  return format(digest.subarray(0, UUID_BYTES), 5)
}

/**
 * Returns a version 7 UUID, which sorts by its millisecond (RFC 9562 §5.7).
 * @param random 16 bytes or more
 */
export function uuidv7(nowMs: number, random: Uint8Array): string {
  const bytes = Buffer.from(random.subarray(0, UUID_BYTES))
  bytes.writeUIntBE(nowMs, 0, TIME_BYTES)
  return format(bytes, 7)
}

/**
 * Returns a generator of version 7 UUIDs. It draws randomness for many ids at once, because each
 * call to the CSPRNG costs more than an id.
 * @param random returns bytes of a CSPRNG
 */
export function uuidv7Source(now: () => number, random: (length: number) => Buffer): () => string {
  let drawn: Buffer = Buffer.alloc(0)
  return () => {
    if (drawn.length === 0) drawn = random(UUID_BYTES * IDS_AT_ONCE)
    const id = uuidv7(now(), drawn)
    drawn = drawn.subarray(UUID_BYTES)
    return id
  }
}

function format(bytes: Buffer, version: number): string {
  bytes[6] = ((bytes[6] as number) & 0x0f) | (version << 4)
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

const UUIDV7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Returns when a UUIDv7 was made, Unix milliseconds; null for any other text. */
export function uuidv7Time(id: string): number | null {
  const [, high, low] = UUIDV7.exec(id) ?? []
  return high === undefined || low === undefined ? null : Number.parseInt(high + low, 16)
}
