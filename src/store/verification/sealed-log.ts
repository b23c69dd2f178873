// Reads sealed entries with the bytes that were hashed: the entry of a call, and the whole log as
// an export.

import { parseObject } from '../../audit/survey.ts'
import type { StoredRecord } from '../../audit/verify.ts'
import type { StoredKey } from '../../keys/key-record.ts'
import type { Environment } from '../environment/journaled.ts'
import { entryKeyOf } from '../log/query.ts'
import { readJson, readU64, unpackEntry } from '../tables/layout.ts'
import type { StoreTables } from '../tables/sub-databases.ts'
import { type ExportOptions, exportChunks, type Omissions } from './log-export.ts'

/** The entry of a call. */
export interface SealedCall {
  readonly record: StoredRecord
  /** `CallKey.line` of the key whose call it was. */
  readonly keyLine: string
}

export class SealedLog {
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  /** Returns null for an id that is not of a call in the log. */
  findCall(id: string): SealedCall | null {
    this.#environment.refresh()
    const { tables } = this.#environment
    const entryKey = entryKeyOf(tables, id)
    const packed = entryKey === undefined ? undefined : tables.entries.get(entryKey)
    if (entryKey === undefined || packed === undefined) return null
    const record = unpackEntry(readU64(entryKey), packed)
    const keyId = parseObject(record.bytes)?.['key_id']
    return typeof keyId === 'string' ? { record, keyLine: lineOf(tables, keyId) } : null
  }

  /**
   * Returns the export without exchanges, as texts of whole lines. They fail when pruning overtakes
   * the export.
   */
  async lines({ sinceMs, untilMs }: Omit<ExportOptions, 'exchanges'>): Promise<AsyncIterable<string>> {
    return textsOf(exportChunks(this.#environment, { sinceMs, untilMs, exchanges: false }))
  }
}

async function* textsOf(
  chunks: Generator<Buffer, Omissions, undefined>,
): AsyncGenerator<string, void, undefined> {
  for (;;) {
    const { done, value } = chunks.next()
    if (done !== true) {
      yield value.toString('utf8')
      continue
    }
    if (value.prunedSeq === null) return
    throw new Error(`entry ${value.prunedSeq} was pruned before it was exported`)
  }
}

/** Only keys made through the API have rows with their ids, and only they have successors. */
function lineOf({ keyids, keys }: StoreTables, keyId: string): string {
  const rowKey = keyids.get(Buffer.from(keyId))
  const row = rowKey === undefined ? undefined : keys.get(rowKey)
  return row === undefined ? keyId : (readJson<StoredKey>(row).line ?? keyId)
}
