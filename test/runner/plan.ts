// Decides which test files run, and which of them share a process.

import { readdirSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { ROOT } from '../process/program.ts'

/**
 * `short` proves what the product promises, in minutes. `long` has the files named `*.long.test.ts`:
 * many kills, full disks, real browsers, npm, the whole of a load.
 */
export type Tier = 'short' | 'long'

/** Test files that one process runs, one after the other. Paths are relative to the root. */
export interface Job {
  readonly files: readonly string[]
  /** Whether a file may start the built program. */
  readonly needsProgram: boolean
  /** Whether its coverage is kept, when it is asked for. */
  readonly isCounted: boolean
}

/**
 * Folders where an error leaks data or loses a log entry. Counted are the lines that the tests of the
 * same folders run. Other tests take a third longer with coverage, and add few lines.
 */
export const COUNTED_FOLDERS: readonly string[] = [
  'core',
  'chat',
  'detect',
  'keyword',
  'audit',
  'policy',
  'store',
  'upstream',
  'pipeline',
]

/**
 * Folders whose tests share a process, because they change nothing outside themselves. A process for
 * each of their files would take longer to start than the tests take.
 */
const SHARED_FOLDERS: ReadonlySet<string> = new Set([
  'audit',
  'chat',
  'core',
  'detect',
  'keyword',
  'metrics',
  'pipeline',
  'policy',
  'prices',
  'rulecheck',
  'rules',
  'server',
  'upstream',
])

const folderOf = (file: string): string => file.split('/')[1] ?? ''

/** Test files of a tier. */
export function filesOf(tier: Tier): string[] {
  return readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts') && path.endsWith('.long.test.ts') === (tier === 'long'))
    .map((path) => `test/${path}`)
    .sort()
}

/** @param paths as given on the command line @throws Error that names a path without tests */
export function filesAt(paths: readonly string[]): string[] {
  const all = [...filesOf('short'), ...filesOf('long')]
  return paths.flatMap((path) => {
    const wanted = relative(ROOT, resolve(path))
    const files = all.filter((file) => file === wanted || file.startsWith(`${wanted}/`))
    if (files.length === 0) throw new Error(`${path} is no test file, and no folder with test files`)
    return files
  })
}

/** Jobs in the order in which they should start: those that share a process take the longest. */
export function planJobs(files: readonly string[]): Job[] {
  const shared = Map.groupBy(files.filter(isShared), folderOf)
  const alone = files.filter((file) => !isShared(file))
  return [
    ...[...shared.values()].sort((a, b) => b.length - a.length).map((group) => jobOf(group, false)),
    ...alone.map((file) => jobOf([file], true)),
  ]
}

const jobOf = (files: readonly string[], needsProgram: boolean): Job => ({
  ...{ files, needsProgram },
  isCounted: COUNTED_FOLDERS.includes(folderOf(files[0]!)),
})

const isShared = (file: string): boolean =>
  SHARED_FOLDERS.has(folderOf(file)) && !file.endsWith('.long.test.ts')
