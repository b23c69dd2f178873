// `sidegate audit compact`: a copy of the data directory that holds what is in it and nothing of what was.

import { chmodSync, copyFileSync, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../store/folder/folder.ts'
import { DATA_FILE } from '../store/folder/header.ts'
import { SIGNING_KEY_FILE } from '../store/folder/signingkey.ts'
import { openDirectory, SourceError } from '../store/verification/source.ts'
import type { ExitCode } from './command.ts'

/** Owner only, as the directory itself. */
const FILE_MODE = 0o600

/**
 * Copies the database without its free pages, as it is at one moment, and the key made beside it; a running gateway goes on.
 * @throws SourceError when there is no log, or the folder is not empty
 */
export async function compact(path: string, folder: string): Promise<ExitCode> {
  const environment = openDirectory(path)
  try {
    makeTarget(folder)
    await environment.copyTo(folder)
    const file = join(folder, DATA_FILE)
    chmodSync(file, FILE_MODE)
    // The mode is copied with it.
    if (existsSync(join(path, SIGNING_KEY_FILE))) {
      copyFileSync(join(path, SIGNING_KEY_FILE), join(folder, SIGNING_KEY_FILE))
    }
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

const describe = (folder: string, sizes: { from_bytes: number; to_bytes: number }): string =>
  `${sizes.from_bytes} bytes became ${sizes.to_bytes} in ${folder}. Stop the gateway before you put it in place.`
