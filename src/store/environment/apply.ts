// Writes frames of the journal to the database, and how far it has come in the same transaction.

import { eachRow, type Frame } from '../journal/frame.ts'
import {
  FIRST_POSITION,
  isJournalMoved,
  JournalDamageError,
  type JournalPosition,
  readFrames,
  requireEnd,
} from '../journal/journal-reader.ts'
import { readJson, writeJson } from '../tables/layout.ts'
import { type StoreTables, SUB_DATABASES } from '../tables/sub-databases.ts'
import type { Lmdb } from './lmdb.ts'

const POSITION_KEY = Buffer.from('journal')
/** Bytes of frames in one transaction; more would need more room on a disk that is nearly full. */
const APPLY_BYTES = 1024 ** 2

/** Returns the position up to which the database has the frames. */
export function readPosition({ meta }: StoreTables): JournalPosition {
  const row = meta.get(POSITION_KEY)
  return row === undefined ? FIRST_POSITION : readJson<JournalPosition>(row)
}

/** Frames that are written to the database together. */
export class Application {
  readonly #lmdb: Lmdb
  #frames: Frame[] = []
  #bytes = 0
  #end: JournalPosition = FIRST_POSITION

  constructor(lmdb: Lmdb) {
    this.#lmdb = lmdb
  }

  /**
   * Adds a frame; writes those so far, if they are many.
   * @param end the position after the frame
   */
  add(frame: Frame, end: JournalPosition): void {
    this.#frames.push(frame)
    this.#bytes += frame.bytes
    this.#end = end
    if (this.#bytes >= APPLY_BYTES) this.finish()
  }

  /** Returns when all frames are on disk. */
  finish(): void {
    if (this.#frames.length === 0) return
    const { tables } = this.#lmdb
    this.#lmdb.write(() => {
      for (const { body } of this.#frames) {
        eachRow(body, (index, key, value) => changeRow(tables, index, key, value))
      }
      tables.meta.put(POSITION_KEY, writeJson(this.#end))
    }, this.#bytes)
    this.#frames = []
    this.#bytes = 0
  }
}

/** Inside a write transaction. @param index of the sub-database */
export function changeRow(tables: StoreTables, index: number, key: Buffer, value: Buffer | null): void {
  const name = SUB_DATABASES[index]
  if (name === undefined) throw new RangeError(`the journal names an unknown table ${index}`)
  if (value === null) tables[name].remove(key)
  else tables[name].put(key, value)
}

/** Works like `readFrames` where nobody writes: missing frames are damage. */
function readWhole(...args: Parameters<typeof readFrames>): JournalPosition {
  try {
    return readFrames(...args)
  } catch (error) {
    throw isJournalMoved(error) ? new JournalDamageError((error as Error).message) : error
  }
}

/**
 * Writes all frames that the database does not have, after the last writer ended.
 * @returns the position after the last frame
 * @throws JournalDamageError; frames before the damage may be written
 */
export function replay(lmdb: Lmdb, folder: string): JournalPosition {
  lmdb.refresh()
  const from = readPosition(lmdb.tables)
  const application = new Application(lmdb)
  const end = readWhole(folder, from, (frame, position) => application.add(frame, position))
  requireEnd(folder, end)
  application.finish()
  lmdb.refresh()
  return end
}

/**
 * Checks the frames that the database does not have, also next to a process that adds more.
 * @throws JournalDamageError
 */
export function checkJournal(lmdb: Pick<Lmdb, 'tables' | 'refresh'>, folder: string): void {
  for (let frame = 0; ; ) {
    lmdb.refresh()
    let end = readPosition(lmdb.tables)
    try {
      end = readWhole(folder, end, () => {})
      requireEnd(folder, end)
      return
    } catch (error) {
      // The frame that could not be read was still being written, or its segment was overwritten.
      if (end.frame === frame) throw error
      frame = end.frame
    }
  }
}
