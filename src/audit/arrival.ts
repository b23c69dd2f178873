// Checks entries that a sidecar sends: each by itself, then against the newest stored entry. Trusts
// only the hash function; knows neither requests nor tables.

import type { Steps } from '../core/steps.ts'
import { parseTime } from '../core/time.ts'
import type { Head } from './chain.ts'
import { commitSteps, SALT_BYTES } from './content.ts'
import { Frontier } from './merkle.ts'
import { type Members, PlainObject } from './plain.ts'
import { faultOfHash, faultOfPlace, OUT_OF_ORDER, readCanonical, UNLINKED } from './verify.ts'

/** Why something that a sidecar sent is kept as evidence. */
export const CONFLICT_KINDS = [
  /** Another entry, or another tree, than the one that is stored. */
  'fork',
  /** The hash is not that of the bytes, or of the exchange. */
  'forged',
  /** The log is that of another sidecar. */
  'foreign',
  /** Entries are missing, and the sidecar does not send them. */
  'gap',
  /** The entry does not follow the one before. */
  'chain',
  /** Not canonical, or an envelope that is wrong. */
  'form',
  /** A checkpoint that nobody signed who may. */
  'checkpoint',
] as const

export type ConflictKind = (typeof CONFLICT_KINDS)[number]

/** What a sidecar sends of one entry. */
export interface ArrivingEntry {
  readonly bytes: Buffer
  /** As the sidecar says. */
  readonly hash: string
  /** Salt and exchange; null without. */
  readonly content: Buffer | null
  /** The end user of a call: 16 bytes, and the name where it is kept. */
  readonly user: { readonly hash: Buffer; readonly clear: string | null } | null
}

/** The log before an entry, where those before it were pruned and never sent. */
export interface LogBeginning {
  /** Hash of the entry before. */
  readonly hash: string
  /** Edge of the tree of all entries before, base64. */
  readonly frontier: readonly string[]
}

/** An entry that is right by itself. */
export interface ArrivedEntry<Sent extends ArrivingEntry, Kept> {
  readonly sent: Sent
  readonly seq: number
  readonly prev: string | null
  readonly type: string
  /** When it was sealed, Unix milliseconds. */
  readonly sealedMs: number
  readonly kept: Kept
}

/** Why entries are refused. */
export interface ArrivalFault {
  readonly kind: ConflictKind
  /** Sequence number of the entry at fault; null when it has none. */
  readonly seq: number | null
  readonly reason: string
  /** As sent. */
  readonly entry: ArrivingEntry
  /** Hash of the stored entry that it differs from or does not follow; null without one. */
  readonly stored: string | null
}

/**
 * Reads what the caller needs of an entry, whose members are there only during the call. Returns a
 * text for what is wrong with the members beyond the envelope.
 */
export type EntryReader<Kept extends object> = (members: Members) => Kept | string

const PLAIN = new PlainObject()

/**
 * Checks consecutive entries of a log by themselves: hash, canonical form, envelope, the chain
 * among them, and the hash of each exchange. Entries of an unknown version pass like others.
 * Pauses after each entry.
 */
export function* checkArrival<Sent extends ArrivingEntry, Kept extends object>(
  log: string,
  entries: readonly Sent[],
  reader: EntryReader<Kept>,
): Steps<readonly ArrivedEntry<Sent, Kept>[] | ArrivalFault> {
  const arrived: ArrivedEntry<Sent, Kept>[] = []
  for (const sent of entries) {
    const before = arrived.at(-1)
    const head = before === undefined ? null : { log, seq: before.seq, hash: before.sent.hash }
    const entry = checkEntry(sent, log, head, reader)
    if ('reason' in entry) return entry
    if (sent.content !== null) {
      const { contentHash } = entry
      if (!(yield* isContent(sent.content, contentHash)))
        return fault('forged', entry.seq, 'the exchange is not that of the entry', sent)
    }
    arrived.push(entry)
    yield
  }
  return arrived
}

const fault = (
  kind: ConflictKind,
  seq: number | null,
  reason: string,
  entry: ArrivingEntry,
  stored: string | null = null,
): ArrivalFault => ({ kind, seq, reason, entry, stored })

interface CheckedEntry<Sent extends ArrivingEntry, Kept> extends ArrivedEntry<Sent, Kept> {
  readonly contentHash: unknown
}

/** @param head the entry before; null for the first, which may be at any place */
function checkEntry<Sent extends ArrivingEntry, Kept extends object>(
  sent: Sent,
  log: string,
  head: Head | null,
  reader: EntryReader<Kept>,
): CheckedEntry<Sent, Kept> | ArrivalFault {
  const forged = faultOfHash(sent)
  const members = readCanonical(sent.bytes, PLAIN)
  const seq = typeof members === 'string' ? null : sequenceOf(members)
  if (forged !== null) return fault('forged', seq, forged, sent)
  if (typeof members === 'string') return fault('form', null, members, sent)
  if (seq === null) return fault('form', null, 'the entry has no sequence number', sent)
  const expected = head === null ? seq : head.seq + 1
  const misplaced = faultOfPlace(members, expected, head ?? firstHead(members, log, seq))
  if (misplaced !== null) {
    const kind = misplaced === UNLINKED ? 'chain' : misplaced === OUT_OF_ORDER ? 'gap' : 'form'
    return fault(kind, seq, misplaced, sent)
  }
  // The genesis entry has no head to compare its log with.
  if (members.get('log') !== log) return fault('form', seq, 'the entry belongs to another log', sent)
  const sealedMs = parseTime(String(members.get('ts')))
  if (sealedMs === null || sealedMs < 0) return fault('form', seq, 'the entry has no valid time', sent)
  if (sent.user !== null && members.get('has_user') !== true)
    return fault('form', seq, 'the entry is of a call without an end user', sent)
  const kept = isVersion(members.get('v')) ? reader(members) : 'v must be a whole number of at least 1'
  if (typeof kept === 'string') return fault('form', seq, `a member of the entry is wrong: ${kept}`, sent)
  return {
    ...{ sent, seq, sealedMs },
    prev: members.get('prev') as string | null,
    type: members.get('type') as string,
    contentHash: members.get('content_hash'),
    kept,
  }
}

const isVersion = (v: unknown): boolean => Number.isSafeInteger(v) && (v as number) > 0

/** Returns the entry before the first one that was sent, as that one names it. */
function firstHead(members: Members, log: string, seq: number): Head | null {
  return seq === 0 ? null : { log, seq: seq - 1, hash: String(members.get('prev')) }
}

function sequenceOf(members: Members): number | null {
  const seq = members.get('seq')
  return typeof seq === 'number' && Number.isSafeInteger(seq) && seq >= 0 ? seq : null
}

/** @param content the salt and the exchange */
function* isContent(content: Buffer, hash: unknown): Steps<boolean> {
  if (content.length < SALT_BYTES) return false
  const steps = commitSteps(content.subarray(0, SALT_BYTES), [content.subarray(SALT_BYTES)])
  return (yield* steps).hash === hash
}

/** Where entries that have arrived belong. */
export type Placement =
  /** Those from `from` on are new, and follow the newest one; those before it are sent again. */
  | { readonly from: number }
  /** An entry before them is missing. */
  | { readonly want: number }
  | ArrivalFault

type Placed = Pick<ArrivedEntry<ArrivingEntry, unknown>, 'sent' | 'seq' | 'prev'>

/**
 * Compares entries that have arrived with what is stored of their log.
 * @param entries at least one, the result of `checkArrival`
 * @param head the newest that is stored; null for a log that is not
 * @param beginning what the sidecar says of the log before the first entry
 * @param hashOf returns the stored hash of an entry that is sent again; undefined for one that is
 * stored no more
 */
export function placeArrival(
  entries: readonly Placed[],
  head: Head | null,
  beginning: LogBeginning | null,
  hashOf: (seq: number) => string | undefined,
): Placement {
  const [first] = entries as [Placed]
  if (head === null) return placeFirst(first, beginning, 0)
  // With a beginning, the entries between were pruned before they were sent.
  if (first.seq > head.seq + 1) return placeFirst(first, beginning, head.seq + 1)
  const from = Math.min(entries.length, head.seq + 1 - first.seq)
  for (const { sent, seq } of entries.slice(0, from)) {
    const stored = seq === head.seq ? head.hash : hashOf(seq)
    if (stored !== undefined && stored !== sent.hash)
      return fault('fork', seq, 'another entry is stored there', sent, stored)
  }
  const next = entries[from]
  if (next !== undefined && next.prev !== head.hash)
    return fault('chain', next.seq, UNLINKED, next.sent, head.hash)
  return { from }
}

/** @param next the entry that is missing before it, if it is not the first of the log */
function placeFirst({ sent, seq, prev }: Placed, beginning: LogBeginning | null, next: number): Placement {
  if (seq === 0) return { from: 0 }
  if (beginning === null) return { want: next }
  if (beginning.hash !== prev) return fault('chain', seq, 'the beginning is of another entry', sent)
  try {
    Frontier.read(seq, beginning.frontier)
  } catch {
    return fault('form', seq, 'the edge of the tree does not fit the sequence number', sent)
  }
  return { from: 0 }
}
