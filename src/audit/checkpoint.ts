// Checkpoints: the size of a log at one moment and the root of its Merkle tree
// (https://c2sp.org/tlog-checkpoint). A signed checkpoint that is kept elsewhere can later be
// compared with the log.

import type { KeyObject } from 'node:crypto'
import type { Milliseconds } from '../core/clock.ts'
import { cosignerOf, cosignNote, openNote, type Signer, signNote, type Verifier } from './note.ts'

const ORIGIN_PREFIX = 'sidegate/'
/** Begins the name under which hubs sign as witnesses, before the id of their own log. */
const HUB_PREFIX = 'sidegate-hub/'
const HASH_BYTES = 32
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** No leading zeros and no sign: each number has one form. */
const SIZE = /^(?:0|[1-9][0-9]{0,15})$/
const HEAD_LINE = /^head (sha256:[0-9a-f]{64})$/
const TIME_LINE = /^time (\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z)$/

export interface Checkpoint {
  /** Id of the log. */
  readonly log: string
  /** Entries in the log; the newest has the sequence number `size - 1`. */
  readonly size: number
  /** Root of the Merkle tree over these entries, 32 bytes. */
  readonly root: Buffer
  /** Hash of the newest entry; null if the checkpoint does not give it. */
  readonly head: string | null
  /**
   * Time of the checkpoint, RFC 3339 with milliseconds; null if the checkpoint does not give it.
   */
  readonly time: string | null
}

/** Returns the origin line of the log's checkpoints, which is also the name of its signing key. */
export const originOf = (log: string): string => `${ORIGIN_PREFIX}${log}`

/** Returns the text to sign: origin, size, root and, if known, `head` and `time`, one a line. */
export function formatCheckpoint({ log, size, root, head, time }: Checkpoint): string {
  const lines = [originOf(log), String(size), root.toString('base64')]
  if (head !== null) lines.push(`head ${head}`)
  if (time !== null) lines.push(`time ${time}`)
  return `${lines.join('\n')}\n`
}

/** Reads exactly what `formatCheckpoint` writes; null for any other text. */
export function readCheckpoint(text: string): Checkpoint | null {
  const [origin = '', sizeText = '', rootText = '', ...more] = text.split('\n')
  // The text ends in a line feed.
  if (more.pop() !== '') return null
  const log = origin.slice(ORIGIN_PREFIX.length)
  const size = Number(sizeText)
  const root = readCheckpointRoot(rootText)
  if (!origin.startsWith(ORIGIN_PREFIX) || !UUID.test(log)) return null
  if (!SIZE.test(sizeText) || !Number.isSafeInteger(size)) return null
  if (root === null) return null
  const head = HEAD_LINE.exec(more[0] ?? '')?.[1] ?? null
  if (head !== null) more.shift()
  const time = TIME_LINE.exec(more[0] ?? '')?.[1] ?? null
  if (time !== null) more.shift()
  return more.length === 0 ? { log, size, root, head, time } : null
}

/** Reads a root from base64 in its only form; null for anything else. */
export function readCheckpointRoot(text: unknown): Buffer | null {
  const root = typeof text === 'string' ? Buffer.from(text, 'base64') : null
  return root?.length === HASH_BYTES && root.toString('base64') === text ? root : null
}

/** Returns the signed note. The signer's name is the origin, as tlog-checkpoint requires. */
export function signCheckpoint(checkpoint: Checkpoint, signer: Signer): string {
  return signNote(formatCheckpoint(checkpoint), signer)
}

/**
 * Returns the note with the signature of the hubs as a witness, under a name of its own.
 * @param signer signs the checkpoints of the hubs' log
 * @throws TypeError as `cosignNote`
 */
export function cosignCheckpoint(note: string, { key, verifier }: Signer, nowMs: Milliseconds): string {
  const cosigner = hubCosigner(verifier)
  if (cosigner === null) throw new TypeError('only the signer of a log cosigns')
  return cosignNote(note, { key, verifier: cosigner }, Math.floor(nowMs / 1000))
}

/** Returns the witness that is the signer of a log of hubs; null for a key of no log. */
export const hubCosigner = ({ name, key }: Verifier): Verifier | null =>
  name.startsWith(ORIGIN_PREFIX) ? cosignerOf(HUB_PREFIX + name.slice(ORIGIN_PREFIX.length), key) : null

/** Returns the witness with a key, if the name is one of hubs. */
export const cosignerNamed = (name: string, key: KeyObject): Verifier | null =>
  name.startsWith(HUB_PREFIX) ? cosignerOf(name, key) : null

/** A checkpoint with the verifier keys whose signatures on it are valid. */
export interface OpenedCheckpoint extends Checkpoint {
  readonly verified: readonly string[]
}

/**
 * Opens a signed checkpoint. Accepts any bytes.
 * @param verifiersOf returns those trusted to sign checkpoints of an origin under a name
 */
export function openCheckpoint(
  note: string | Uint8Array,
  verifiersOf: (origin: string, name: string) => readonly Verifier[],
): OpenedCheckpoint | { readonly fault: string } {
  const unread = openNote(note, [])
  if ('fault' in unread) return unread
  const checkpoint = readCheckpoint(unread.text)
  if (checkpoint === null) return { fault: 'the note is not a checkpoint of a usage log' }
  const origin = originOf(checkpoint.log)
  const opened = openNote(note, (name) => verifiersOf(origin, name))
  return 'fault' in opened ? opened : { ...checkpoint, verified: opened.verified }
}
