// The export format: JSON Lines, first the entries in order, then the checkpoints. A line of an entry is its
// canonical form with the hash as its last member, so that the bytes that were hashed are there to be seen.

import { isUtf8 } from 'node:buffer'
import { isObject } from '../core/json.ts'
import { MAX_NOTE_BYTES } from './note.ts'
import { MAX_ENTRY_BYTES, type StoredRecord } from './verify.ts'

const HASH_MEMBER = /^,"hash":"(sha256:[0-9a-f]{64})"\}$/
const HASH_MEMBER_BYTES = ',"hash":"sha256:"}'.length + 64
const CHECKPOINT_BEGINNING = '{"checkpoint":'
/** A note in a JSON string may take twice its length and a few bytes more. */
const MAX_CHECKPOINT_LINE_BYTES = 2 * MAX_NOTE_BYTES + 64
const CLOSING_BRACE = Buffer.from('}')

/** Longest line that can mean anything, bytes. */
export const MAX_LINE_BYTES = MAX_ENTRY_BYTES + HASH_MEMBER_BYTES

/** The hash and the bytes that were hashed. */
export type DumpedEntry = Omit<StoredRecord, 'seq'>

export type DumpLine = { readonly entry: DumpedEntry } | { readonly checkpoint: string }

/** An entry's line, with its line feed. */
export function entryLine({ bytes, hash }: DumpedEntry): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  return `${text.slice(0, -1)},"hash":"${hash}"}\n`
}

/** A signed checkpoint's line, with its line feed. */
export function checkpointLine(note: string): string {
  return `${JSON.stringify({ checkpoint: note })}\n`
}

/** Reads a line without its line feed, whatever it holds; a string says what is wrong with it. */
export function readLine(line: Buffer): DumpLine | string {
  if (line.length > MAX_LINE_BYTES) return 'the line is too long'
  if (line.toString('latin1', 0, CHECKPOINT_BEGINNING.length) === CHECKPOINT_BEGINNING) {
    return readCheckpointLine(line)
  }
  const at = line.length - HASH_MEMBER_BYTES
  const hash = at < 0 ? null : HASH_MEMBER.exec(line.toString('latin1', at))?.[1]
  if (hash == null) return 'the line is neither an entry that ends in its hash nor a checkpoint'
  return { entry: { hash, bytes: Buffer.concat([line.subarray(0, at), CLOSING_BRACE]) } }
}

function readCheckpointLine(line: Buffer): DumpLine | string {
  if (line.length > MAX_CHECKPOINT_LINE_BYTES || !isUtf8(line)) return 'the checkpoint cannot be read'
  try {
    const value: unknown = JSON.parse(line.toString('utf8'))
    if (isObject(value) && typeof value['checkpoint'] === 'string') return { checkpoint: value['checkpoint'] }
  } catch {
    // Said below: there is nothing to add.
  }
  return 'the checkpoint cannot be read'
}
