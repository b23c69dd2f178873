// The bytes of a rule folder. Of a ConfigMap they are all of one moment: one that is swapped while it is read is read
// again. Knows nothing of what the files say.

import { type Dirent, statSync } from 'node:fs'
import { open, readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Problem } from '../core/problem.ts'

export interface RuleFile {
  /** As problems name it. */
  readonly name: string
  readonly text: string
}

export interface RuleFiles {
  readonly files: readonly RuleFile[]
  readonly problems: readonly Problem[]
}

const MAX_FILES = 1000
/** A ConfigMap holds at most 1 MiB. */
const MAX_FILE_BYTES = 1024 * 1024
const MAX_BYTES_TOGETHER = 16 * MAX_FILE_BYTES

/** kubelet's link to the folder of the moment; it is replaced in one rename (atomic_writer.go). */
const CONFIG_MAP_LINK = '..data'

/** A folder that changes faster than this many readings is taken as it is. */
const MAX_READINGS = 5

const RULE_FILE = /\.ya?ml$/
const TEST_FILE = /_test\.ya?ml$/

/**
 * Reads a file, or the rule files of a folder in the order of their names. Never rejects.
 * @param label names the file or folder in problems
 */
export async function readRuleFiles(path: string, label: string): Promise<RuleFiles> {
  try {
    if ((await stat(path)).isFile()) return await readAll([{ path, name: label }])
    for (let reading = 1; ; reading++) {
      const moment = await momentOf(path)
      try {
        const files = await readFolder(moment, label)
        if (reading === MAX_READINGS || (await momentOf(path)) === moment) return files
      } catch (error) {
        if (reading === MAX_READINGS || (await momentOf(path)) === moment) throw error
      }
    }
  } catch (error) {
    return { files: [], problems: [{ ...wholeFile(label, cannotBeRead(error)), unread: true }] }
  }
}

/** Why there is nothing to read at a path, for whoever can say where it was given; null where there is. */
export function whyNoRules(path: string): string | null {
  try {
    statSync(path)
    return null
  } catch (error) {
    return `${path} cannot be read (${reasonOf(error)}); give a file of rules or a folder of them`
  }
}

/** The folder that really holds the files now. */
async function momentOf(path: string): Promise<string> {
  try {
    return await realpath(join(path, CONFIG_MAP_LINK))
  } catch {
    return realpath(path)
  }
}

async function readFolder(folder: string, label: string): Promise<RuleFiles> {
  const names = (await readdir(folder, { withFileTypes: true })).filter(isRuleFile).map(({ name }) => name)
  if (names.length === 0) {
    // Taken as a mistake: a folder that lost its files must not silently switch every rule off.
    const message = 'holds no *.yaml file; to run without rules put a file with `rules: []` there'
    return { files: [], problems: [wholeFile(label, message)] }
  }
  if (names.length > MAX_FILES) {
    return {
      files: [],
      problems: [wholeFile(label, `holds ${names.length} rule files; ${MAX_FILES} are allowed`)],
    }
  }
  // By code unit, so that the order is the same everywhere.
  return readAll(names.sort().map((name) => ({ path: join(folder, name), name: join(label, name) })))
}

const isRuleFile = (entry: Dirent): boolean => isRuleFileName(entry.name) && !entry.isDirectory()

/** Whether a folder's file of this name is read as rules: YAML, not hidden, and no test of rules. */
export const isRuleFileName = (name: string): boolean =>
  !name.startsWith('.') && RULE_FILE.test(name) && !TEST_FILE.test(name)

/** Whether a folder's file of this name holds tests of rules. */
export const isRuleTestName = (name: string): boolean => !name.startsWith('.') && TEST_FILE.test(name)

async function readAll(
  places: readonly { readonly path: string; readonly name: string }[],
): Promise<RuleFiles> {
  const files: RuleFile[] = []
  const problems: Problem[] = []
  let bytes = 0
  for (const { path, name } of places) {
    const read = await readText(path)
    if ('problem' in read) {
      const { problem, ...how } = read
      problems.push({ ...wholeFile(name, problem), ...how })
    } else {
      bytes += read.bytes
      files.push({ name, text: read.text })
    }
    if (bytes > MAX_BYTES_TOGETHER) {
      problems.push(wholeFile(name, `brings all rule files above ${MAX_BYTES_TOGETHER} bytes`))
      return { files: [], problems }
    }
  }
  return { files, problems }
}

/** At most the allowed size is read, whatever the file grows to meanwhile. */
async function readText(
  path: string,
): Promise<{ text: string; bytes: number } | { problem: string; unread?: true }> {
  try {
    // A pipe would keep `open` waiting.
    if (!(await stat(path)).isFile()) return { problem: 'is not a regular file' }
    const file = await open(path)
    try {
      const buffer = Buffer.alloc(MAX_FILE_BYTES + 1)
      let length = 0
      for (let read = -1; read !== 0 && length < buffer.length; length += read) {
        read = (await file.read(buffer, length, buffer.length - length)).bytesRead
      }
      if (length > MAX_FILE_BYTES) return { problem: `is larger than ${MAX_FILE_BYTES} bytes` }
      return {
        text: new TextDecoder('utf-8', { fatal: true }).decode(buffer.subarray(0, length)),
        bytes: length,
      }
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof TypeError) return { problem: 'is not valid UTF-8' }
    return { problem: cannotBeRead(error), unread: true }
  }
}

const wholeFile = (file: string, message: string): Problem => ({
  file,
  line: 0,
  column: 0,
  path: '',
  message,
})

const cannotBeRead = (error: unknown): string => `cannot be read (${reasonOf(error)})`

const reasonOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? (error as Error).message
