// Another commit of this repository, ready to run beside the present one.

import { execFileSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Checks a commit out into a folder; it uses the dependencies installed here when it asks for the same.
 * @returns the program's path
 * @throws Error when there is no such commit
 */
export async function checkout(revision: string, folder: string): Promise<string> {
  const git = (...args: string[]) => execFileSync('git', args, { maxBuffer: 256 * 1024 ** 2 })
  execFileSync('mkdir', ['-p', folder])
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', revision) })
  const same = git('diff', '--name-only', revision, '--', 'package-lock.json').length === 0
  if (same && existsSync('node_modules')) {
    symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'))
  } else execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: folder, stdio: 'ignore' })
  return join(folder, 'src/main.ts')
}
