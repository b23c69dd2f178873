// Builds the program that tests start, unless it is newer than its source. tap runs this before the
// first test.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeFile } from '../../src/boot/built-program.ts'
import { PROGRAM, ROOT } from './program.ts'

const changed = (path: string): number => statSync(join(ROOT, path)).mtimeMs
const SOURCES = ['.build.ts', '.build-console.ts', 'package.json', 'package-lock.json', 'src']

const newest = Math.max(
  ...SOURCES.map(changed),
  ...readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).map((path) =>
    changed(join('src', path)),
  ),
)
// The build writes this file last.
const built = codeFile(dirname(PROGRAM))
if (!existsSync(built) || statSync(built).mtimeMs <= newest) {
  execFileSync('env', ['-u', 'NODE_OPTIONS', process.execPath, '.build.ts'], { cwd: ROOT, stdio: 'inherit' })
}
