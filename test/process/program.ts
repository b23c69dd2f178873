// The built program, which tests start as its users do. Its source takes twice as long to start, three
// times with coverage, which the tests of functions measure.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeOptions } from '../../src/boot/built-program.ts'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
export const SOURCE = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
/** build-program.ts keeps it up to date. */
export const PROGRAM = join(ROOT, 'dist/main.js')

/**
 * Returns the arguments with which env(1) runs the program. `nodeOptions` are added to those in its
 * first line.
 */
export function programArgs(
  args: readonly string[],
  {
    program = PROGRAM,
    nodeOptions: options = '',
  }: { readonly program?: string; readonly nodeOptions?: string | undefined } = {},
): string[] {
  return [`NODE_OPTIONS=${options}`, process.execPath, ...nodeOptions(SOURCE), program, ...args]
}

/** The program as words of a shell. */
export const SIDEGATE = ['env', ...programArgs([])].map((word) => `'${word}'`).join(' ')
