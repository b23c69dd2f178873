// Opens the embedded database: layout version, transactions, size. The only file that opens lmdb.
// Knows nothing of the contents of the sub-databases.

import { closeSync, existsSync, fstatSync, openSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { type Database, open, type RootDatabase } from 'lmdb'
import { DiskRoom } from '../files/disk-space.ts'
import { makeFolder } from '../files/folder.ts'
import { DATA_FILE, faultOfFile } from '../files/header.ts'
import { type StoreTables, SUB_DATABASES, type SubDatabase } from '../tables/sub-databases.ts'
import { LmdbTable } from '../tables/table.ts'

/** Version of all sub-databases and of the journal. Newer ones are refused. */
const LAYOUT_VERSION = 3
/** Has the same sub-databases and no journal; a writer raises it. */
const OLDEST_LAYOUT_VERSION = 2

const LAYOUT_KEY = Buffer.from('layout')
/** Each process holds a reader slot, and so does each running command. */
const MAXIMUM_READERS = 64
/** Includes spare sub-databases for later layouts. */
const MAXIMUM_DATABASES = 32
/** Owner only: the log holds prompts and answers. */
const FILE_MODE = 0o600
/** LMDB's table of current readers and writers; recreated when missing. */
export const LOCK_FILE = 'lock.mdb'
/** A lock-free reader would see pages that a gateway elsewhere overwrites. */
const READ_ONLY_REMEDY = '; readers write a lock file there: copy it to a writable disk'
/** MDB_PANIC: LMDB could not write a meta page, and refuses everything from then on. */
const PANIC = -30795
/** Every LMDB file has two meta pages. */
const META_PAGES = 2

/** Tells an operator, at start, what is wrong with the data directory and what to do. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
}

export interface StoreSize {
  /** Bytes of pages in use and of the journal; limited by `audit.maxBytes`. */
  readonly usedBytes: number
  /** Bytes of the files. The database's never shrinks; freed pages are reused. */
  readonly fileBytes: number
}

/** The database itself. Only the holder of the journal writes to it. */
export interface Lmdb {
  readonly tables: StoreTables
  /**
   * Runs `write` in a write transaction, exclusive across processes; returns when it is on disk. If
   * `write` throws or the commit fails, nothing is stored and the error is thrown; with code ENOSPC
   * when the disk has no room.
   * @param bytes approximate bytes to store
   */
  write(write: () => void, bytes?: number): void
  /** Returns a known reason why every write must fail; null if there is none. */
  fault(): Error | null
  /** Makes later reads, up to the next await, see all commits of any process so far. */
  refresh(): void
  size(): StoreSize
  /** Frees the slots of dead readers, whose snapshots would keep the file growing. */
  reapReaders(): void
  /** Copies the current contents to an empty folder, without free pages and their bytes. */
  copyTo(folder: string): Promise<void>
  /** Whether a failure of the disk left it unusable, to read from too, until it is opened anew. */
  isBroken(): boolean
  /**
   * Opens it anew. Threads of one process share it, so all the others have closed it before.
   * @throws as `openLmdb` (rejects); then it cannot be read until another attempt succeeds
   */
  reopen(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens or creates the database in a folder on a local disk. Several processes may have it open.
 * @throws StoreOpenError when the folder cannot be used or holds another layout
 */
export const openLmdb = (path: string, mapBytes?: number): Lmdb => new OpenLmdb(path, mapBytes)

interface Databases {
  readonly root: RootDatabase<Buffer, Buffer>
  readonly byName: ReadonlyMap<SubDatabase, Database<Buffer, Buffer>>
}

function openDatabases(path: string, mapBytes: number | undefined): Databases {
  const root = openRoot(path, mapBytes)
  try {
    const meta = openDatabase(root, 'meta')
    checkLayout(meta, path)
    const databases = SUB_DATABASES.map(
      (name) => [name, name === 'meta' ? meta : openDatabase(root, name)] as const,
    )
    return { root, byName: new Map(databases) }
  } catch (error) {
    // No write is pending, so nothing waits for this.
    root.close().catch(() => {})
    if (error instanceof StoreOpenError) throw error
    throw new StoreOpenError(`the data directory ${path} cannot be opened: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

function openRoot(path: string, mapBytes: number | undefined): RootDatabase<Buffer, Buffer> {
  try {
    makeFolder(path)
    const fault = faultOfFile(join(path, DATA_FILE))
    if (fault !== null) throw new Error(`${DATA_FILE} ${fault}`)
    if (!existsSync(join(path, DATA_FILE))) new DiskRoom(path).require(0)
    // overlappingSync would acknowledge before the data is on disk. Without noSubdir the library
    // guesses from a dot in the path. Its types lack permissionsMode.
    const options = {
      noSubdir: false,
      overlappingSync: false,
      permissionsMode: FILE_MODE,
      encoding: 'binary' as const,
      keyEncoding: 'binary' as const,
      maxReaders: MAXIMUM_READERS,
      maxDbs: MAXIMUM_DATABASES,
      ...(mapBytes === undefined ? {} : { mapSize: mapBytes }),
    }
    return open<Buffer, Buffer>(path, options)
  } catch (error) {
    const { message, code } = error as Error & { code?: unknown }
    const remedy = code === constants.errno.EROFS ? READ_ONLY_REMEDY : ''
    throw new StoreOpenError(`the data directory ${path} cannot be opened: ${message}${remedy}`, {
      cause: error,
    })
  }
}

function openDatabase(root: RootDatabase<Buffer, Buffer>, name: SubDatabase): Database<Buffer, Buffer> {
  return root.openDB<Buffer, Buffer>(name, { encoding: 'binary', keyEncoding: 'binary' })
}

function checkLayout(meta: Database<Buffer, Buffer>, path: string): void {
  const stored = meta.get(LAYOUT_KEY)
  if (stored === undefined) {
    // The only synchronous write; runs at start, before anything is served.
    meta.transactionSync(() => {
      if (meta.get(LAYOUT_KEY) === undefined) meta.putSync(LAYOUT_KEY, Buffer.from(String(LAYOUT_VERSION)))
    })
    return
  }
  const version = Number(stored.toString())
  if (!(version >= OLDEST_LAYOUT_VERSION && version <= LAYOUT_VERSION)) {
    throw new StoreOpenError(
      `the data directory ${path} has layout ${version} and this version of sidegate reads layout ${LAYOUT_VERSION}; ` +
        'run the version that wrote it, or point data.path at another folder',
    )
  }
}

/** Keeps versions that know no journal from opening the folder. */
export function raiseLayout(lmdb: Lmdb): void {
  const { meta } = lmdb.tables
  if (Number(meta.get(LAYOUT_KEY)?.toString()) === LAYOUT_VERSION) return
  lmdb.write(() => meta.put(LAYOUT_KEY, Buffer.from(String(LAYOUT_VERSION))))
}

interface Statistics {
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

class OpenLmdb implements Lmdb {
  readonly tables: StoreTables
  readonly #path: string
  readonly #mapBytes: number | undefined
  readonly #file: OpenFile
  readonly #room: DiskRoom
  #databases: Databases
  #writing = false

  constructor(path: string, mapBytes: number | undefined) {
    this.#path = path
    this.#room = new DiskRoom(path)
    this.#mapBytes = mapBytes
    this.#databases = openDatabases(path, mapBytes)
    this.#file = new OpenFile(join(path, DATA_FILE))
    const tables = SUB_DATABASES.map((name) => [
      name,
      new LmdbTable(
        () => this.#databases.byName.get(name)!,
        () => this.#writing,
      ),
    ])
    this.tables = Object.fromEntries(tables) as StoreTables
  }

  /** The database itself does not notice a deleted file. */
  fault(): Error | null {
    return this.#file.isDeleted()
      ? new Error(`${DATA_FILE} was deleted while it was open; restart the gateway`)
      : null
  }

  write(write: () => void, bytes = 0): void {
    const fault = this.fault()
    if (fault !== null) throw fault
    this.#room.require(bytes, () => this.size())
    // A snapshot of this thread would keep the pages that earlier transactions freed.
    this.refresh()
    this.#writing = true
    try {
      this.#databases.root.transactionSync(write)
    } finally {
      this.#writing = false
    }
  }

  refresh(): void {
    this.#databases.root.resetReadTxn()
  }

  size(): StoreSize {
    const root = this.#databases.root.getStats() as Statistics & {
      root: Statistics
      free: Statistics
      lastPageNumber: number
    }
    let pages = META_PAGES + pagesOf(root.root) + pagesOf(root.free)
    for (const database of this.#databases.byName.values())
      pages += pagesOf(database.getStats() as Statistics)
    return { usedBytes: pages * root.pageSize, fileBytes: (root.lastPageNumber + 1) * root.pageSize }
  }

  reapReaders(): void {
    this.#databases.root.readerCheck()
  }

  copyTo(folder: string): Promise<void> {
    return this.#databases.root.backup(folder, true)
  }

  isBroken(): boolean {
    try {
      this.refresh()
      this.size()
      return false
    } catch (error) {
      return (error as { code?: unknown }).code === PANIC
    }
  }

  async reopen(): Promise<void> {
    await this.#databases.root.close()
    this.#databases = openDatabases(this.#path, this.#mapBytes)
  }

  async close(): Promise<void> {
    await this.#databases.root.close()
    this.#file.close()
  }
}

const pagesOf = (statistics: Statistics): number =>
  statistics.treeBranchPageCount + statistics.treeLeafPageCount + statistics.overflowPages

/**
 * Watches the open database file for deletion. A deleted file still accepts writes, which are lost
 * when the process ends.
 */
class OpenFile {
  readonly #handle: number

  /** @throws the system's error when the file cannot be read */
  constructor(file: string) {
    this.#handle = openSync(file, 'r')
  }

  /** Reports whether no folder holds the file; a moved file is not deleted. */
  isDeleted(): boolean {
    return fstatSync(this.#handle).nlink === 0
  }

  close(): void {
    closeSync(this.#handle)
  }
}
