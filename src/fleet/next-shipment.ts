// Fills the next request with entries of a log: as many as one takes, or one with a long exchange.

import {
  base64Bytes,
  joinLines,
  MAXIMUM_LONE_BYTES,
  MAXIMUM_SHIPPED_BYTES,
  MAXIMUM_SHIPPED_ENTRIES,
  printShippedLine,
  type ShippedEntry,
  type ShippedHead,
} from './shipping.ts'

/** Room in a lone request for what is not the exchange: the entry, its user, the names. */
const LONE_REST_BYTES = 1024 * 1024

/** The log that is sent, and how far a hub has it. */
export interface ShippableLog {
  readonly log: string
  /** The first entry that no hub is known to have. */
  readonly next: number
  /** The first entry that can be sent; above `next` when entries were pruned unsent. */
  readonly first: number
  /** Sequence of the newest entry. */
  readonly newest: number
  /**
   * Returns an entry as it is to be sent, after a look at `first`; null when it is not stored.
   * @param isFirst whether it is the first of a request
   */
  read(seq: number, isFirst: boolean): ShippedEntry | null
  hashOf(seq: number): string | null
  /** A hub has all entries up to this one for good. */
  took(head: ShippedHead): void
  /** The hub wants entries from this one on. @returns false when it is not stored */
  moveTo(seq: number): boolean
  /** Writes how far the hub is. */
  save(): Promise<void>
}

/**
 * Returns the body of the next request.
 * @param leaveOut receives the sequence of an entry whose exchange is too long to be sent
 * @throws Error when the next entry is not stored
 */
export function nextShipment(log: ShippableLog, leaveOut: (seq: number) => void): Buffer {
  const { first } = log
  const lines: (string | Buffer)[] = []
  let bytes = 0
  for (let seq = first; lines.length < MAXIMUM_SHIPPED_ENTRIES && bytes <= MAXIMUM_SHIPPED_BYTES; seq++) {
    const isFirst = lines.length === 0
    const entry = log.read(seq, isFirst)
    const line = entry === null ? null : lineOf(seq, entry, isFirst, leaveOut)
    if (line === null || (!isFirst && bytes + line.length > MAXIMUM_SHIPPED_BYTES)) break
    lines.push(line)
    bytes += line.length
  }
  if (lines.length === 0) throw new Error(`entry ${first} of the log is missing`)
  return joinLines(lines)
}

/** Returns null for an entry with a long exchange that is not the first: it travels alone. */
function lineOf(
  seq: number,
  entry: ShippedEntry,
  isFirst: boolean,
  leaveOut: (seq: number) => void,
): string | Buffer | null {
  const contentBytes = base64Bytes(entry.content?.length ?? 0)
  if (contentBytes + LONE_REST_BYTES > MAXIMUM_LONE_BYTES) {
    leaveOut(seq)
    return printShippedLine({ ...entry, content: null })
  }
  return !isFirst && contentBytes > MAXIMUM_SHIPPED_BYTES ? null : printBounded(entry)
}

/** A hub takes a longer line only with an exchange: rather the entry than what goes with it. */
function printBounded(entry: ShippedEntry): string | Buffer {
  const line = printShippedLine(entry)
  const { stored, ...alone } = entry
  const isTooLong = stored !== undefined && entry.content === null && line.length > MAXIMUM_SHIPPED_BYTES
  return isTooLong ? printShippedLine(alone) : line
}
