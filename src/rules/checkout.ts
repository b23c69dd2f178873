// Waits while git writes a checkout that holds rule files: half of a checkout is no revision.

import { readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Milliseconds } from '../core/clock.ts'
import type { Timers } from '../core/timers.ts'

/** Longest wait for git: one that was killed leaves its lock. */
const CHECKOUT_MS: Milliseconds = 5000

/** Time between two looks at the lock. */
const LOCK_MS: Milliseconds = 100

/**
 * Reads files while git does not write them, and again if git wrote meanwhile. Reads them as they
 * are after CHECKOUT_MS, or when the signal is aborted.
 * @param folders hold the files
 */
export async function whenCheckedOut<T>(
  folders: readonly string[],
  read: () => Promise<T>,
  timers: Timers,
  signal?: AbortSignal,
): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += LOCK_MS) {
    const isLate = waitedMs >= CHECKOUT_MS || signal?.aborted === true
    if (isLate) return read()
    const before = await checkoutState(folders)
    if (!before.isLocked) {
      const content = await read()
      const after = await checkoutState(folders)
      if (!after.isLocked && after.version === before.version) return content
    }
    await pause(timers, signal)
  }
}

function pause(timers: Timers, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      timers.clear(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = timers.set(end, LOCK_MS)
    signal?.addEventListener('abort', end)
  })
}

interface CheckoutState {
  /** Git holds `index.lock` while it writes files. */
  readonly isLocked: boolean
  /** Changes with each checkout, commit and merge. */
  readonly version: string
}

/** Returns the state of the repositories that hold these folders. Never rejects. */
async function checkoutState(folders: readonly string[]): Promise<CheckoutState> {
  const repositories = new Set<string>()
  for (const folder of folders) {
    const repository = await repositoryOf(folder)
    if (repository !== null) repositories.add(repository)
  }
  let isLocked = false
  const versions: string[] = []
  for (const repository of repositories) {
    isLocked ||= (await identityOf(join(repository, 'index.lock'))) !== null
    versions.push(repository, String(await identityOf(join(repository, 'index'))))
  }
  return { isLocked, version: versions.join('\n') }
}

/** The git folder of the nearest checkout around a folder; null without one. */
async function repositoryOf(folder: string): Promise<string | null> {
  for (let at = folder; ; at = dirname(at)) {
    const entry = join(at, '.git')
    try {
      if ((await stat(entry)).isDirectory()) return entry
      // A worktree or submodule has a file that names the folder (gitrepository-layout(5)).
      const [, target] = /^gitdir: (.+)$/m.exec(await readFile(entry, 'utf8')) ?? []
      if (target !== undefined) return resolve(at, target)
    } catch {
      // Not here.
    }
    if (dirname(at) === at) return null
  }
}

async function identityOf(path: string): Promise<string | null> {
  try {
    const { ino, mtimeNs, size } = await stat(path, { bigint: true })
    return `${ino} ${mtimeNs} ${size}`
  } catch {
    return null
  }
}
