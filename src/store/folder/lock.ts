// One gateway a data folder: token limits are counted in memory, and calls under way are known to one process alone.
// The kernel lets go of the hold when its process dies, however that happens. Commands beside a gateway take none.

import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

/** Names the process that holds the folder; away from Linux it is the hold itself. */
const PID_FILE = 'gateway.pid'
const FILE_MODE = 0o600

export interface DirectoryLock {
  /** Lets go; the process's death does so as well. */
  release(): Promise<void>
}

/** The folder is another gateway's. `pid` is null where that is not known. */
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
 * Holds a folder that exists. On Linux by an abstract socket, which is seen by the processes of one network
 * namespace: containers that share a volume and no network are kept apart by the volume's access mode alone.
 * @throws DirectoryHeldError (rejects) when a living process has it
 */
export async function holdDirectory(path: string, platform = process.platform): Promise<DirectoryLock> {
  const pidFile = join(path, PID_FILE)
  const releaseHold = platform === 'linux' ? await holdByName(path, pidFile) : holdByFile(path, pidFile)
  // StoredState a socket the file only makes a better message: a disk that takes no writes must not decide here.
  if (platform === 'linux')
    ignoreErrors(() => writeFileSync(pidFile, String(process.pid), { mode: FILE_MODE }))
  return {
    async release() {
      ignoreErrors(() => rmSync(pidFile, { force: true }))
      await releaseHold()
    },
  }
}

/** The name is that of the folder itself, by whatever path it was reached. */
function holdByName(path: string, pidFile: string): Promise<() => Promise<void>> {
  const { dev, ino } = statSync(path, { bigint: true })
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new DirectoryHeldError(path, readPid(pidFile)) : error),
    )
    server.listen(`\0sidegate/${dev}/${ino}`, () => {
      // The hold alone is no reason for a process to stay alive.
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
    // Said by what goes without it.
  }
}
