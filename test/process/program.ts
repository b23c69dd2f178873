// The built program, by which tests run commands as users do. Its source takes twice as long to start,
// and three times with coverage; the gateways of tests run from source for that.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeOptions } from '../../src/boot/built-program.ts'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
export const SOURCE = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
/** build-program.ts keeps it up to date. */
export const PROGRAM = join(ROOT, 'dist/main.js')

/**
 * Returns the arguments with which env(1) runs the program. Its first line has options of Node;
 * NODE_OPTIONS in `env` adds to them.
 */
export function programArgs(
  args: readonly string[],
  { program = PROGRAM, env = {} }: { readonly program?: string; readonly env?: NodeJS.ProcessEnv } = {},
): string[] {
  return [
    `NODE_OPTIONS=${env['NODE_OPTIONS'] ?? ''}`,
    process.execPath,
    ...nodeOptions(SOURCE),
    program,
    ...args,
  ]
}

/** The program as words of a shell. */
export const SIDEGATE = ['env', ...programArgs([])].map((word) => `'${word}'`).join(' ')
