// How one entry follows the other: what sealing adds to a draft, and what is hashed. Values in, values out;
// the place where the head is kept, and the clock, belong to the caller.

import { hash } from 'node:crypto'
import type { Milliseconds } from '../core/clock.ts'
import { canonicalize } from './canonical.ts'
import type {
  ChangeDraft,
  EntryDraft,
  GenesisDraft,
  RequestDraft,
  SealedEntry,
  SealedRequest,
} from './entry.ts'

/** Keeps the hash of an entry from ever being taken for one of another kind. */
const ENTRY_DOMAIN = 'sidegate-audit/v1/entry\n'
const ENTRY_DOMAIN_BYTES = Buffer.from(ENTRY_DOMAIN)

/** Version of the entry format, sealed in every entry. */
export const ENTRY_VERSION = 1

/** The newest entry of a log. */
export interface Head {
  readonly log: string
  readonly seq: number
  /** `sha256:` and 64 hexadecimal digits. */
  readonly hash: string
}

/** A sealed entry with the bytes that were hashed: its canonical form without `hash`. */
export interface Sealed<Entry extends SealedEntry = SealedEntry> {
  readonly entry: Entry
  readonly bytes: Buffer
  readonly hash: string
}

/** Where the bytes of most entries are put behind the domain: a buffer for each would cost as much as the hash. */
const HASHED = Buffer.concat([ENTRY_DOMAIN_BYTES], 4096)

/** `sha256:` and the hex SHA-256 of the domain and an entry's canonical bytes. */
export function hashEntry(bytes: Uint8Array): string {
  const end = ENTRY_DOMAIN_BYTES.length + bytes.length
  if (end > HASHED.length) return `sha256:${hash('sha256', Buffer.concat([ENTRY_DOMAIN_BYTES, bytes]))}`
  HASHED.set(bytes, ENTRY_DOMAIN_BYTES.length)
  return `sha256:${hash('sha256', HASHED.subarray(0, end))}`
}

/**
 * The first entry of a log.
 * @param log the log's id, a UUIDv7
 */
export function genesis(log: string, draft: GenesisDraft, tsMs: Milliseconds): Sealed {
  return finish(draft, { v: ENTRY_VERSION, log, seq: 0, prev: null, ts: timestamp(tsMs) })
}

/**
 * The entry that follows `head`.
 * @param contentHash the commitment to the captured exchange of a request, null without one
 * @throws TypeError when the draft holds what has no canonical form (fractions, lone surrogates, undefined)
 */
export function seal(
  head: Head,
  draft: RequestDraft,
  tsMs: Milliseconds,
  contentHash: string | null,
): Sealed<SealedRequest>
export function seal(head: Head, draft: EntryDraft, tsMs: Milliseconds, contentHash: string | null): Sealed
export function seal(head: Head, draft: EntryDraft, tsMs: Milliseconds, contentHash: string | null): Sealed {
  const envelope = {
    v: ENTRY_VERSION,
    log: head.log,
    seq: head.seq + 1,
    prev: head.hash,
    ts: timestamp(tsMs),
  }
  return draft.type === 'request'
    ? finish(draft, { ...envelope, content_hash: contentHash })
    : finish(draft, envelope)
}

function finish(draft: RequestDraft | ChangeDraft | GenesisDraft, envelope: object): Sealed {
  // The envelope last: nothing in a draft can pass for it.
  const unsigned = { ...draft, ...envelope }
  const text = canonicalize(unsigned)
  // The same as hashEntry of its bytes.
  const sealed = `sha256:${hash('sha256', ENTRY_DOMAIN + text)}`
  return {
    entry: { ...unsigned, hash: sealed } as SealedEntry,
    bytes: Buffer.from(text, 'utf8'),
    hash: sealed,
  }
}

/** Entries are sealed many a millisecond, and writing out a date costs as much as a hash. */
let written: { readonly tsMs: Milliseconds; readonly text: string } = { tsMs: Number.NaN, text: '' }

function timestamp(tsMs: Milliseconds): string {
  if (written.tsMs !== tsMs) written = { tsMs, text: new Date(tsMs).toISOString() }
  return written.text
}
