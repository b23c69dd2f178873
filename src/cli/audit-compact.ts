// `sidegate audit compact`: a copy of the data directory that holds what is in it and nothing of what was.

import { closeSync, copyFileSync, existsSync, fsyncSync, openSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../store/folder/folder.ts'
import { DATA_FILE } from '../store/folder/header.ts'
import { SIGNING_KEY_FILE } from '../store/folder/signingkey.ts'
import { openDirectory, SourceError } from '../store/verification/log-source.ts'
import type { ExitCode } from './command.ts'

/** What the database library makes is for everybody but for this: it is the owner's from the first byte on. */
const OWNER_ONLY = 0o077

/**
 * Copies the database without its free pages, as it is at one moment, and the key made beside it; a running gateway goes on.
 * The copy is on disk when this resolves: the original may be destroyed then.
 * @throws SourceError when there is no log, or the folder is not empty
 */
export async function compact(path: string, folder: string): Promise<ExitCode> {
  const environment = openDirectory(path)
  try {
    makeTarget(folder)
    process.umask(OWNER_ONLY)
    await environment.copyTo(folder)
    const file = join(folder, DATA_FILE)
    sync(file)
    const key = join(folder, SIGNING_KEY_FILE)
    if (existsSync(join(path, SIGNING_KEY_FILE))) {
      copyFileSync(join(path, SIGNING_KEY_FILE), key)
      sync(key)
    }
    sync(folder)
    const sizes = { from_bytes: environment.size().fileBytes, to_bytes: statSync(file).size }
    console.log(process.stdout.isTTY ? describe(folder, sizes) : JSON.stringify(sizes))
    return 0
  } finally {
    await environment.close()
  }
}

function makeTarget(folder: string): void {
  try {
    if (existsSync(folder) && readdirSync(folder).length > 0) throw new Error('it is not empty')
    makeFolder(folder)
  } catch (error) {
    throw new SourceError(`${folder} cannot be written: ${(error as Error).message}`, { cause: error })
  }
}

/** Waits until a file, or the names in a folder, are on disk. */
function sync(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

const describe = (folder: string, sizes: { from_bytes: number; to_bytes: number }): string =>
  `${sizes.from_bytes} bytes became ${sizes.to_bytes} in ${folder}. Stop the gateway before you put it in place.`
