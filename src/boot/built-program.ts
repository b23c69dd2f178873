// Loads the program that .build.ts made: one file, and the code that V8 compiled from it, which
// saves most of the compile time at start.

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Script } from 'node:vm'

export interface BuiltProgram {
  readonly script: Script
  run(args: readonly string[]): Promise<number>
}

/**
 * Returns the options of Node in the first line of a program. Compiled code is valid for one set of
 * options, so that a build or a benchmark must start Node with these.
 * @throws Error without such a line
 */
export function nodeOptions(program: string): string[] {
  const [, options] = /^#!\/usr\/bin\/env -S node (.+)\n/.exec(readFileSync(program, 'utf8')) ?? []
  if (options === undefined) throw new Error(`${program}: the first line does not start Node`)
  return options.split(' ')
}

/**
 * Returns the path of the program: a function expression with the parameters of a CommonJS module.
 */
export const programFile = (folder: string): string => join(folder, 'program.cjs')

/** Returns the path of the compiled code for this platform. */
export const codeFile = (folder: string): string =>
  join(folder, `program.${process.platform}-${process.arch}.code`)

/**
 * Loads the program from a folder. V8 uses the compiled code if its version, options and lengths
 * match, and compiles the source otherwise. It checks no more: trust the code like the source.
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
