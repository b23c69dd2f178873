// Loads the program of a hub: a file of its own next to the built program, or its source.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Next to the built program. */
const BUILT = join(import.meta.dirname, 'hub.cjs')
const SOURCE = join(import.meta.dirname, '../hub-program.ts')

/** A variable path keeps the bundler from including the file. */
export const loadHubProgram = async <Program>(): Promise<Program> =>
  existsSync(BUILT)
    ? (createRequire(import.meta.filename)(BUILT) as Program)
    : ((await import(pathToFileURL(SOURCE).href)) as Program)
