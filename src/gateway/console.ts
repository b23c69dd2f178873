// Reads the files of the console that the build wrote.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConsoleFile } from '../server/console-files.ts'

/** Next to the built program; a program that runs from source takes those of the last build. */
const FOLDERS = [join(import.meta.dirname, 'console'), join(import.meta.dirname, '../../dist/console')]
const COMPRESSED = '.gz'

/** Returns the files, none when no build has made them. */
export function readConsoleFiles(): ConsoleFile[] {
  const folder = FOLDERS.find((path) => existsSync(path))
  if (folder === undefined) return []
  return readdirSync(folder)
    .filter((name) => !name.endsWith(COMPRESSED))
    .map((name) => ({
      name,
      content: readFileSync(join(folder, name)),
      compressed: readFileSync(join(folder, name + COMPRESSED)),
    }))
}
