// Reads the texts of a rule file or folder. A ConfigMap or link that is swapped during the reading
// is read again, so that all files are of one moment. Knows nothing of what the files say.

import { type Dirent, statSync } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Problem } from '../core/problem.ts'
import { cannotBeRead, readTextFile, reasonOf } from '../core/text-file.ts'

export interface RuleFile {
  /** The name of the file in problems. */
  readonly name: string
  readonly text: string
}

/** A gateway, whose rules are for itself, or a hub, whose files may name namespaces. */
export type RuleReader = 'gateway' | 'hub'

export interface RuleFiles {
  readonly files: readonly RuleFile[]
  readonly problems: readonly Problem[]
}

/** Rule files in one folder. */
export const MAXIMUM_FILES = 1000
/** A ConfigMap holds at most 1 MiB. */
const MAXIMUM_FILE_BYTES = 1024 * 1024
const MAXIMUM_TOTAL_BYTES = 16 * MAXIMUM_FILE_BYTES

/** kubelet's link to the current folder. It is replaced in one rename (atomic_writer.go). */
const CONFIG_MAP_LINK = '..data'

/** Maximum attempts on a folder that changes while it is read. */
const MAXIMUM_READINGS = 5

const UNSTABLE = 'changes while it is read; the rules before it stay in force'

const RULE_FILE = /\.ya?ml$/
const TEST_FILE = /_test\.ya?ml$/

/**
 * Reads a file, or the rule files of a folder in the order of names. Never rejects.
 * @param label names the file or folder in problems
 */
export async function readRuleFiles(path: string, label: string): Promise<RuleFiles> {
  try {
    if ((await stat(path)).isFile()) return await readAll([{ path, name: label }])
    for (let reading = 1; reading <= MAXIMUM_READINGS; reading++) {
      const folder = await currentFolder(path)
      const targets = await targetsIn(folder)
      const isStable = async () =>
        (await currentFolder(path)) === folder && (await targetsIn(folder)) === targets
      try {
        const files = await readFolder(folder, label)
        if (await isStable()) return files
      } catch (error) {
        if (await isStable()) throw error
      }
    }
    // Files of two moments are no rule set. The next event reads again.
    return { files: [], problems: [{ ...wholeFile(label, UNSTABLE), unread: true }] }
  } catch (error) {
    return { files: [], problems: [{ ...wholeFile(label, cannotBeRead(error)), unread: true }] }
  }
}

/** Says why there is nothing to read at a path; null when there is. The message names the path. */
export function whyNoRules(path: string): string | null {
  try {
    statSync(path)
    return null
  } catch (error) {
    return `${path} cannot be read (${reasonOf(error)}); name a rule file or a folder of rule files`
  }
}

/** The folder that holds the files now, all links resolved. */
async function currentFolder(path: string): Promise<string> {
  try {
    return await realpath(join(path, CONFIG_MAP_LINK))
  } catch {
    return realpath(path)
  }
}

/** What the linked rule files of a folder resolve to. */
async function targetsIn(folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const links = entries.filter((entry) => entry.isSymbolicLink() && isRuleFileName(entry.name))
  const targets: string[] = []
  for (const { name } of links.slice(0, MAXIMUM_FILES))
    targets.push(name, await realpath(join(folder, name)).catch(() => ''))
  return targets.join('\n')
}

async function readFolder(folder: string, label: string): Promise<RuleFiles> {
  const names = (await readdir(folder, { withFileTypes: true })).filter(isRuleFile).map(({ name }) => name)
  if (names.length === 0) {
    // An error: a folder that lost its files must not silently disable every rule.
    const message = 'holds no *.yaml file; to run without rules, add a file with `rules: []`'
    return { files: [], problems: [wholeFile(label, message)] }
  }
  if (names.length > MAXIMUM_FILES) {
    return {
      files: [],
      problems: [wholeFile(label, `holds ${names.length} rule files; at most ${MAXIMUM_FILES} are allowed`)],
    }
  }
  // Sorted by code unit, so that the order is the same everywhere.
  return readAll(names.sort().map((name) => ({ path: join(folder, name), name: join(label, name) })))
}

const isRuleFile = (entry: Dirent): boolean => isRuleFileName(entry.name) && !entry.isDirectory()

/** Whether a folder's file of this name holds rules: YAML, not hidden, not a rule test. */
export const isRuleFileName = (name: string): boolean =>
  !name.startsWith('.') && RULE_FILE.test(name) && !TEST_FILE.test(name)

/** Whether a folder's file of this name holds rule tests. */
export const isRuleTestName = (name: string): boolean => !name.startsWith('.') && TEST_FILE.test(name)

async function readAll(
  paths: readonly { readonly path: string; readonly name: string }[],
): Promise<RuleFiles> {
  const files: RuleFile[] = []
  const problems: Problem[] = []
  let bytes = 0
  for (const { path, name } of paths) {
    const read = await readTextFile(path, MAXIMUM_FILE_BYTES, 'split it into smaller files')
    if ('problem' in read) {
      const { problem, ...how } = read
      problems.push({ ...wholeFile(name, problem), ...how })
    } else {
      bytes += read.bytes
      files.push({ name, text: read.text })
    }
    if (bytes > MAXIMUM_TOTAL_BYTES) {
      problems.push(
        wholeFile(
          name,
          `brings the rule files above ${MAXIMUM_TOTAL_BYTES} bytes together; remove or split some`,
        ),
      )
      return { files: [], problems }
    }
  }
  return { files, problems }
}

const wholeFile = (file: string, message: string): Problem => ({
  file,
  line: 0,
  column: 0,
  path: '',
  message,
})
