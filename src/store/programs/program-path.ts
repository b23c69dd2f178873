// Locates the programs that the store runs in child processes.

import { extname, join } from 'node:path'

/**
 * Returns the file of a program: in this folder, with this file's extension, in the source and in
 * the build.
 */
export const programPath = (name: string): string =>
  join(import.meta.dirname, `${name}${extname(import.meta.filename)}`)
