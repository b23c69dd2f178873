// The program as .build.ts leaves it: one file, and beside it what V8 compiled of that file when the program ran once, so
// that a start has little left to compile. Knows nothing of what the program does.

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Script } from 'node:vm'

/**
 * What the program is run with, in the image and by `sidegate`: why is said in the Dockerfile and in memory.ts. Compiled
 * code is for one set of flags.
 */
export const NODE_FLAGS: readonly string[] = [
  '--expose-gc',
  '--min-semi-space-size=4',
  '--max-semi-space-size=16',
  '--heap-growing-percent=100',
  '--no-memory-reducer',
]

export interface BuiltProgram {
  readonly script: Script
  run(args: readonly string[]): Promise<number>
}

/** Where the program lies: a function expression, with the parameters that Node gives a CommonJS module. */
export const programFile = (folder: string): string => join(folder, 'program.cjs')

/** Where compiled code lies. It is for one kind of machine; a folder may come to another. */
export const codeFile = (folder: string): string =>
  join(folder, `program.${process.platform}-${process.arch}.code`)

/**
 * Loads the program from a folder. Compiled code is taken by the very V8 that made it, under the same flags; without it,
 * or with another's, the file is compiled as any other. V8 checks version, flags and lengths, and no more: the bytes are
 * trusted as the program beside them is.
 */
export function loadProgram(folder: string): BuiltProgram {
  const filename = programFile(folder)
  const code = codeFile(folder)
  const source = readFileSync(filename, 'latin1')
  const script = new Script(source, {
    filename,
    ...(existsSync(code) && { cachedData: readFileSync(code) }),
  })
  const module = { exports: {} as BuiltProgram }
  script.runInThisContext()(module.exports, createRequire(filename), module, filename, folder)
  return { script, run: (args) => module.exports.run(args) }
}
