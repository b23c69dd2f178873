// What a checkpoint says: how long a log was at some time, and the root of its Merkle tree then
// (https://c2sp.org/tlog-checkpoint). Signing it makes it a promise that can be kept elsewhere and held against the log.

import { openNote, type Signer, signNote, type Verifier } from './note.ts'

const ORIGIN_PREFIX = 'sidegate/'
const HASH_BYTES = 32
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** No leading zeros, no sign: one way to write a number. */
const SIZE = /^(?:0|[1-9][0-9]{0,15})$/
const HEAD_LINE = /^head (sha256:[0-9a-f]{64})$/
const TIME_LINE = /^time (\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z)$/

export interface Checkpoint {
  /** Id of the log. */
  readonly log: string
  /** Entries in the log, so that the newest has the sequence number `size - 1`. */
  readonly size: number
  /** Root of the Merkle tree over these entries, 32 bytes. */
  readonly root: Buffer
  /** Hash of the newest entry; null when the checkpoint does not say. */
  readonly head: string | null
  /** RFC 3339 with milliseconds, when it was made; null when the checkpoint does not say. */
  readonly time: string | null
}

/** What the log calls itself in checkpoints, and the name its key signs them with. */
export const originOf = (log: string): string => `${ORIGIN_PREFIX}${log}`

/** The text that is signed: origin, size and root, then `head` and `time` where they are known, a line each. */
export function formatCheckpoint({ log, size, root, head, time }: Checkpoint): string {
  const lines = [originOf(log), String(size), root.toString('base64')]
  if (head !== null) lines.push(`head ${head}`)
  if (time !== null) lines.push(`time ${time}`)
  return `${lines.join('\n')}\n`
}

/** Reads what `formatCheckpoint` writes, and nothing else; null for any other text. */
export function readCheckpoint(text: string): Checkpoint | null {
  const [origin = '', sizeText = '', rootText = '', ...more] = text.split('\n')
  // The text ends in a line feed, after which nothing comes.
  if (more.pop() !== '') return null
  const log = origin.slice(ORIGIN_PREFIX.length)
  const size = Number(sizeText)
  const root = Buffer.from(rootText, 'base64')
  if (!origin.startsWith(ORIGIN_PREFIX) || !UUID.test(log)) return null
  if (!SIZE.test(sizeText) || !Number.isSafeInteger(size)) return null
  if (root.length !== HASH_BYTES || root.toString('base64') !== rootText) return null
  const head = HEAD_LINE.exec(more[0] ?? '')?.[1] ?? null
  if (head !== null) more.shift()
  const time = TIME_LINE.exec(more[0] ?? '')?.[1] ?? null
  if (time !== null) more.shift()
  return more.length === 0 ? { log, size, root, head, time } : null
}

/** The signed note. The signer's name is the origin, as tlog-checkpoint asks. */
export function signCheckpoint(checkpoint: Checkpoint, signer: Signer): string {
  return signNote(formatCheckpoint(checkpoint), signer)
}

/** A checkpoint with those, among the verifiers asked about, who signed it, as verifier keys. */
export interface OpenedCheckpoint extends Checkpoint {
  readonly verified: readonly string[]
}

/**
 * Opens a signed checkpoint, whatever the bytes are.
 * @param verifiersOf who may have signed a checkpoint of that origin
 */
export function openCheckpoint(
  note: string | Uint8Array,
  verifiersOf: (origin: string) => readonly Verifier[],
): OpenedCheckpoint | { readonly fault: string } {
  const unread = openNote(note, [])
  if ('fault' in unread) return unread
  const checkpoint = readCheckpoint(unread.text)
  if (checkpoint === null) return { fault: 'the note is not a checkpoint of a usage log' }
  const opened = openNote(note, verifiersOf(originOf(checkpoint.log)))
  return 'fault' in opened ? opened : { ...checkpoint, verified: opened.verified }
}
