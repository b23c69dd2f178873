// `sidegate audit compact`: copies the data directory without the free pages, which may hold erased
// data.

import { copyFileSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { LOCK_FILE } from '../store/environment/lmdb.ts'
import { makeFolder } from '../store/files/folder.ts'
import { DATA_FILE } from '../store/files/header.ts'
import { SIGNING_KEY_FILE } from '../store/files/signingkey.ts'
import { syncToDisk } from '../store/files/sync.ts'
import { USER_KEY_FILE } from '../store/files/user-key.ts'
import { adoptCopy, isCopy, recordedIdentity } from '../store/opening/identity.ts'
import { openDirectory, SourceError } from '../store/verification/log-source.ts'
import type { ExitCode } from './command.ts'

/**
 * umask that keeps the copy private from its first byte. The database library creates files for
 * everybody.
 */
const OWNER_ONLY = 0o077

/**
 * Copies a snapshot of the database and the generated keys; a running gateway is not
 * disturbed. The copy is durable when this resolves, so the original may then be destroyed.
 * @throws SourceError (rejects) when there is no log, or the folder is not empty
 */
export async function compact(path: string, folder: string): Promise<ExitCode> {
  const environment = openDirectory(path)
  try {
    makeTarget(folder)
    process.umask(OWNER_ONLY)
    await environment.copyTo(folder)
    const file = join(folder, DATA_FILE)
    // The copy of a copy stays one.
    if (!isCopy(path, recordedIdentity(environment))) {
      await adoptCopy(folder)
      rmSync(join(folder, LOCK_FILE))
    }
    syncToDisk(file)
    for (const name of [SIGNING_KEY_FILE, USER_KEY_FILE].filter((one) => existsSync(join(path, one)))) {
      copyFileSync(join(path, name), join(folder, name))
      syncToDisk(join(folder, name))
    }
    syncToDisk(folder)
    const sizes = { from_bytes: environment.size().fileBytes, to_bytes: statSync(file).size }
    console.log(process.stdout.isTTY ? describe(folder, sizes) : JSON.stringify(sizes))
    return 0
  } finally {
    await environment.close()
  }
}

function makeTarget(folder: string): void {
  try {
    if (existsSync(folder) && readdirSync(folder).length > 0)
      throw new Error('it is not empty; choose an empty or a new folder')
    makeFolder(folder)
  } catch (error) {
    throw new SourceError(`${folder} cannot be written: ${(error as Error).message}`, { cause: error })
  }
}

const describe = (folder: string, sizes: { from_bytes: number; to_bytes: number }): string =>
  `Copied ${sizes.from_bytes} bytes to ${sizes.to_bytes} in ${folder}. Stop the gateway before you replace data.path with it.`
