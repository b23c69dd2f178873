// The program as it is installed: built, from the working tree or from another commit.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const TREE = process.cwd()

/** Builds the working tree into a folder; returns the program's path. */
export const buildTree = (folder: string): string => build(TREE, folder)

/**
 * Builds another commit; it uses the dependencies installed here when it asks for the same.
 * @returns the program's path
 * @throws Error when there is no such commit
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
  // Beside the program, where Node looks for what it imports, and the program for its sample rules.
  for (const name of ['node_modules', 'package.json', 'config'])
    symlinkSync(join(source, name), join(folder, name))
  const script = join(source, '.build.ts')
  if (existsSync(script)) execFileSync(process.execPath, [script, dist], { cwd: source })
  // Commits from before the program was one file.
  else execFileSync(join(modules, '.bin/tsc'), ['-p', join(source, 'tsconfig.json'), '--outDir', dist])
  return join(dist, 'main.js')
}
