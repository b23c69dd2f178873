// Allows one gateway for each data folder: token limits are counted in memory, and only one process
// knows the running calls. The kernel frees the lock when its process dies. Commands do not take
// it.

import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { lockFile } from './file-lock.ts'

/** Locked, and empty. */
const LOCK_FILE = 'gateway.lock'
/** Names the process that holds the folder. On systems other than Linux, the file is the lock. */
const PID_FILE = 'gateway.pid'
const FILE_MODE = 0o600

export interface DirectoryLock {
  /**
   * Why the file could not be locked, so that gateways in other network namespaces are not seen;
   * null if it is.
   */
  readonly weakness: string | null
  /** Releases the lock; so does the end of the process. */
  release(): Promise<void>
}

/** Another gateway holds the folder. `pid` is null when it is unknown. */
export class DirectoryHeldError extends Error {
  override readonly name = 'DirectoryHeldError'

  constructor(path: string, pid: number | null) {
    const holder = pid === null ? 'another gateway' : `the gateway with process id ${pid}`
    super(
      `the data directory ${path} is in use by ${holder}; stop that one first, or point data.path at another folder`,
    )
  }
}

/**
 * Locks an existing folder, twice. On Linux an abstract socket works on every file system and is
 * visible within one network namespace. The lock of a file also covers containers that share a
 * volume and no network. Where files cannot be locked, the first lock alone decides.
 * @throws DirectoryHeldError (rejects) when a living process holds it
 */
export async function holdDirectory(path: string, platform = process.platform): Promise<DirectoryLock> {
  const pidFile = join(path, PID_FILE)
  const releaseHold = platform === 'linux' ? await holdByName(path, pidFile) : holdByFile(path, pidFile)
  const locked = lockIn(path)
  if (locked === null) {
    await releaseHold()
    throw new DirectoryHeldError(path, null)
  }
  // With a socket, the file only improves the message; a disk without space must not decide.
  if (platform === 'linux')
    ignoreErrors(() => writeFileSync(pidFile, String(process.pid), { mode: FILE_MODE }))
  return {
    weakness: locked.weakness,
    async release() {
      ignoreErrors(() => rmSync(pidFile, { force: true }))
      ignoreErrors(locked.unlock)
      await releaseHold()
    },
  }
}

/** Returns null when another process holds the folder. */
function lockIn(path: string): { readonly weakness: string | null; readonly unlock: () => void } | null {
  try {
    const unlock = lockFile(join(path, LOCK_FILE))
    return unlock === null ? null : { weakness: null, unlock }
  } catch (error) {
    return { weakness: (error as Error).message, unlock: () => {} }
  }
}

/** Uses device and inode, so every path to the folder gives the same name. */
function holdByName(path: string, pidFile: string): Promise<() => Promise<void>> {
  const { dev, ino } = statSync(path, { bigint: true })
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new DirectoryHeldError(path, readPid(pidFile)) : error),
    )
    server.listen(`\0sidegate/${dev}/${ino}`, () => {
      // The lock alone must not keep the process alive.
      server.unref()
      resolve(() => new Promise((closed) => server.close(() => closed())))
    })
  })
}

function holdByFile(path: string, pidFile: string): () => Promise<void> {
  for (;;) {
    try {
      writeFileSync(pidFile, String(process.pid), { mode: FILE_MODE, flag: 'wx' })
      return async () => {}
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const pid = readPid(pidFile)
      // A container's only process has the same id each time.
      if (pid !== null && pid !== process.pid && isAlive(pid)) throw new DirectoryHeldError(path, pid)
      rmSync(pidFile, { force: true })
    }
  }
}

function readPid(file: string): number | null {
  try {
    const pid = Number(readFileSync(file, 'utf8'))
    return Number.isSafeInteger(pid) && pid > 0 ? pid : null
  } catch {
    return null
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function ignoreErrors(step: () => void): void {
  try {
    step()
  } catch {
    // The file is optional.
  }
}
