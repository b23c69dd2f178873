// Builds the program as it ships, from the working tree or from another commit.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const TREE = process.cwd()

/** Builds the working tree into a folder; returns the path of the program. */
export const buildTree = (folder: string): string => build(TREE, folder)

/**
 * Builds another commit into a folder. The commit uses the dependencies of the tree if their lock
 * files are equal; otherwise npm installs its own.
 * @returns the path of the program
 * @throws Error when the commit does not exist or does not build
 */
export function buildRevision(revision: string, folder: string): string {
  const source = join(folder, 'source')
  mkdirSync(source, { recursive: true })
  const git = (...args: string[]) => execFileSync('git', args, { maxBuffer: 256 * 1024 ** 2 })
  execFileSync('tar', ['-x', '-C', source], { input: git('archive', revision) })
  if (git('diff', '--name-only', revision, '--', 'package-lock.json').length === 0) {
    symlinkSync(join(TREE, 'node_modules'), join(source, 'node_modules'))
  } else execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: source, stdio: 'ignore' })
  return build(source, folder)
}

function build(source: string, folder: string): string {
  const modules = join(source, 'node_modules')
  mkdirSync(folder, { recursive: true })
  const dist = join(folder, 'dist')
  // The program resolves its imports and its sample rules from the parent of dist/.
  for (const name of ['node_modules', 'package.json', 'config'])
    symlinkSync(join(source, name), join(folder, name))
  const script = join(source, '.build.ts')
  if (existsSync(script)) execFileSync(process.execPath, [script, dist], { cwd: source })
  // Older commits do not bundle the program.
  else execFileSync(join(modules, '.bin/tsc'), ['-p', join(source, 'tsconfig.json'), '--outDir', dist])
  return join(dist, 'main.js')
}
