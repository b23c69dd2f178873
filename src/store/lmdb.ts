// The embedded database as the rest of the store sees it: opening, the layout's version, transactions,
// size. The only file that names lmdb. Knows nothing of what is kept in the sub-databases.

import { constants } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Database, open, type RootDatabase } from 'lmdb'
import { makeFolder } from './folder/folder.ts'
import { DATA_FILE, faultOfFile } from './folder/header.ts'
import { OpenFile } from './folder/openfile.ts'
import { LmdbTable, type Table } from './table.ts'

/** Version of everything under SUB_DATABASES. A newer one is refused, an older one would be migrated here. */
const LAYOUT_VERSION = 2

/** Each sub-database and what it maps; all keys and values are bytes, numbers in keys are big-endian. */
const SUB_DATABASES = [
  /** Names → JSON: the head of the log and its counts. */
  'meta',
  /** Sequence → hash and canonical bytes of an entry. */
  'entries',
  /** Level and index → a node of the Merkle tree over the entries. */
  'nodes',
  /** Number of entries → the signed note over them. */
  'checkpoints',
  /** Sequence → salt and captured exchange. */
  'content',
  /** Id of a usage entry → its sequence. */
  'ids',
  /** Dense ordinal of a usage entry → its sequence and what lists filter on. */
  'requests',
  /** UTC day and dense ordinal within it → where a security event is told from. */
  'security',
  /** UTC day → counts of its security events. */
  'days',
  /** SHA-256 of an API key → its record. */
  'keys',
  /** Id of an API key → its SHA-256. */
  'keyids',
  /** Id of an API key → when it was last used. */
  'keyuse',
  /** Rules and overrides made through the API. */
  'rules',
  /** Revision of a rule set → the rules in it. */
  'policies',
  /** Rule, key, window and bucket → tokens used. */
  'counters',
  /** SHA-256 of a session's id → the session. */
  'sessions',
] as const

export type SubDatabase = (typeof SUB_DATABASES)[number]

export type StoreTables = Readonly<Record<SubDatabase, Table>>

const LAYOUT_KEY = Buffer.from('layout')
/** Readers hold a slot a process, plus one for each command run beside it. */
const MAX_READERS = 64
/** Room for sub-databases a later layout may add. */
const MAX_DATABASES = 32
/** Owner only: the log holds what people wrote to a model. */
const FILE_MODE = 0o600
/** Readers and writers of the moment; LMDB makes it anew. */
export const LOCK_FILE = 'lock.mdb'
/** Without the lock a gateway that has the folder elsewhere would write over what is being read. */
const READ_ONLY_REMEDY = '; whoever reads it takes a lock in it: copy it to where files can be written'
/** Every LMDB file has two meta pages. */
const META_PAGES = 2

/** Said at start, to an operator: what is wrong with the data directory and what to do. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
}

export interface StoreSize {
  /** Bytes of pages in use: what `audit.maxBytes` limits. */
  readonly usedBytes: number
  /** Bytes of the file, which never shrinks; freed pages are used again. */
  readonly fileBytes: number
}

export interface Environment {
  readonly tables: StoreTables
  /**
   * Runs `write` inside a write transaction, alone among all processes, and resolves with its result when it is
   * on disk. If `write` throws, the commit fails, or the file was deleted before, nothing of it is kept and the
   * promise rejects.
   */
  transaction<Result>(write: () => Result): Promise<Result>
  /** Why no transaction can succeed, as far as that is known without trying one; null where it is not. */
  fault(): Error | null
  /** As `transaction`, but waits for the disk: for the moment before anything is served. */
  initialize(write: () => void): void
  /** Reads that follow, up to the next await, see everything that any process has committed until now. */
  refresh(): void
  size(): StoreSize
  /** Frees what reader processes that died left behind; their snapshots would keep the file growing. */
  reapReaders(): void
  /** Copies what is in the database now to an empty folder, without free pages and what is left in them. */
  copyTo(folder: string): Promise<void>
  /** Resolves when running transactions are done. */
  close(): Promise<void>
}

/**
 * Opens or makes the database in a folder. Several processes may have it open at once, on a local disk.
 * @throws StoreOpenError when the folder cannot be used or holds a newer layout
 */
export function openEnvironment(path: string, mapBytes?: number): Environment {
  const root = openRoot(path, mapBytes)
  try {
    const meta = openDatabase(root, 'meta')
    checkLayout(meta, path)
    const databases = SUB_DATABASES.map(
      (name) => [name, name === 'meta' ? meta : openDatabase(root, name)] as const,
    )
    return new LmdbEnvironment(root, new Map(databases), new OpenFile(join(path, DATA_FILE)))
  } catch (error) {
    // Nothing was written that would have to be waited for.
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
    // overlappingSync would acknowledge before the data is on disk. noSubdir is guessed from a dot in the path
    // unless given. permissionsMode is missing from the library's types.
    const options = {
      noSubdir: false,
      overlappingSync: false,
      permissionsMode: FILE_MODE,
      encoding: 'binary' as const,
      keyEncoding: 'binary' as const,
      maxReaders: MAX_READERS,
      maxDbs: MAX_DATABASES,
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
    // Only ever at start, before anything is served: the one synchronous write.
    meta.transactionSync(() => {
      if (meta.get(LAYOUT_KEY) === undefined) meta.putSync(LAYOUT_KEY, Buffer.from(String(LAYOUT_VERSION)))
    })
    return
  }
  const version = Number(stored.toString())
  if (version !== LAYOUT_VERSION) {
    throw new StoreOpenError(
      `the data directory ${path} has layout ${version} and this version of sidegate reads layout ${LAYOUT_VERSION}; ` +
        'run the version that wrote it, or point data.path at another folder',
    )
  }
}

interface Statistics {
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

class LmdbEnvironment implements Environment {
  readonly tables: StoreTables
  readonly #root: RootDatabase<Buffer, Buffer>
  readonly #databases: ReadonlyMap<SubDatabase, Database<Buffer, Buffer>>
  readonly #file: OpenFile
  #writing = false

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    databases: ReadonlyMap<SubDatabase, Database<Buffer, Buffer>>,
    file: OpenFile,
  ) {
    this.#root = root
    this.#databases = databases
    this.#file = file
    const tables = Array.from(databases, ([name, database]) => [
      name,
      new LmdbTable(database, () => this.#writing),
    ])
    this.tables = Object.fromEntries(tables) as StoreTables
  }

  /** The database would not notice. */
  fault(): Error | null {
    return this.#file.isDeleted() ? new Error(`${DATA_FILE} was deleted while it was open; start anew`) : null
  }

  async transaction<Result>(write: () => Result): Promise<Result> {
    const fault = this.fault()
    if (fault !== null) throw fault
    try {
      // A child transaction, because a plain one would keep what was written before `write` threw.
      const done = this.#root.childTransaction(() => this.#write(write))
      this.#observeCommit()
      return await done
    } catch (error) {
      throw await commitFailure(error)
    }
  }

  initialize(write: () => void): void {
    this.#root.transactionSync(() => this.#write(write))
  }

  refresh(): void {
    this.#root.resetReadTxn()
  }

  size(): StoreSize {
    const root = this.#root.getStats() as Statistics & {
      root: Statistics
      free: Statistics
      lastPageNumber: number
    }
    let pages = META_PAGES + pagesOf(root.root) + pagesOf(root.free)
    for (const database of this.#databases.values()) pages += pagesOf(database.getStats() as Statistics)
    return { usedBytes: pages * root.pageSize, fileBytes: (root.lastPageNumber + 1) * root.pageSize }
  }

  reapReaders(): void {
    this.#root.readerCheck()
  }

  copyTo(folder: string): Promise<void> {
    return this.#root.backup(folder, true)
  }

  async close(): Promise<void> {
    await this.#root.close()
    this.#file.close()
  }

  /**
   * At the end of an event turn the library makes one more promise for the turn's commit, which nobody holds; when
   * the commit fails it would end the process. This immediate runs right after the library's own.
   */
  #observeCommit(): void {
    setImmediate(() => {
      const observed = () => {}
      this.#root.committed.then(observed, observed)
    })
  }

  #write<Result>(write: () => Result): Result {
    this.#writing = true
    try {
      return write()
    } finally {
      this.#writing = false
    }
  }
}

/**
 * The library hangs the reason of a failed commit on a promise of its own, which would end the process if nobody
 * looked at it, and which it rejects in the same event turn or never.
 */
async function commitFailure(error: unknown): Promise<unknown> {
  const { commitError } = error as { commitError?: Promise<never> }
  if (commitError === undefined) return error
  return Promise.race([commitError.catch((reason: unknown) => reason), nextTurn(error)])
}

function pagesOf(statistics: Statistics): number {
  return statistics.treeBranchPageCount + statistics.treeLeafPageCount + statistics.overflowPages
}
