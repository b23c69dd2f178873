// Loads a rule file or folder as a snapshot, parsed in this process or, when large, in a child.
// Knows neither who watches the files nor what is in force.

import { resolve } from 'node:path'
import { fileLabel } from '../core/text-file.ts'
import type { Timers } from '../core/timers.ts'
import { whenCheckedOut } from './checkout.ts'
import { type RuleReader, readRuleFiles } from './files.ts'
import { surveyRules } from './path-survey.ts'
import { readInChild } from './read-in-child.ts'
import { contentHash, type RuleSnapshot, snapshotOf } from './snapshot.ts'
import type { FileSnapshot, FileSource } from './watch.ts'

export type { RuleSnapshot } from './snapshot.ts'

/**
 * Maximum characters that are parsed in this process. The YAML parser takes up to ten microseconds
 * and a kilobyte for each, and calls wait meanwhile.
 */
const MAXIMUM_PARSED_HERE = 32 * 1024

export type RuleSource = FileSource<RuleSnapshot>

/**
 * Reads a rule file, or every `*.yaml` and `*.yml` of a folder in the order of names, except
 * `*_test.yaml` and names that begin with a dot. Never rejects: unreadable files are among the
 * problems.
 */
export const openRules = (path: string): Promise<RuleSource> => open(path, 'gateway')

/** As `openRules`, for the files of a hub. */
export const openHubRules = (path: string): Promise<RuleSource> => open(path, 'hub')

async function open(path: string, reader: RuleReader): Promise<RuleSource> {
  const read = await readRuleFiles(path, fileLabel(path))
  const { files, problems } = read
  const isLarge = files.reduce((length, { text }) => length + text.length, 0) > MAXIMUM_PARSED_HERE
  return {
    contentHash: contentHash(files, problems),
    read: async (signal) =>
      isLarge ? readInChild({ ...read, reader }, signal) : snapshotOf(files, problems, { reader }),
  }
}

/** Keeps the process while it waits for git. */
const waitingTimers: Timers = {
  set: (callback, delayMs) => setTimeout(callback, delayMs),
  clear: (timer) => clearTimeout(timer as NodeJS.Timeout),
}

/** Reads and parses the rules, once git does not write them. */
export const loadRules = (path: string): Promise<RuleSnapshot> => loadCheckedOut(path, openRules)

/** Reads and parses what is at the path, once git does not write it. */
export async function loadCheckedOut<Snapshot extends FileSnapshot>(
  path: string,
  open: (path: string) => Promise<FileSource<Snapshot>>,
): Promise<Snapshot> {
  const { folders } = await surveyRules(resolve(path))
  return (await whenCheckedOut(folders, () => open(path), waitingTimers)).read()
}
