// Loads a rule file or folder as a snapshot, parsed in this process or, when large, in a child.
// Knows neither who watches the files nor what is in force.

import { basename, join, relative, resolve, sep } from 'node:path'
import type { Timers } from '../core/timers.ts'
import { whenCheckedOut } from './checkout.ts'
import { readRuleFiles } from './files.ts'
import { surveyRules } from './path-survey.ts'
import { readInChild } from './read-in-child.ts'
import { contentHash, type RuleSnapshot, snapshotOf } from './snapshot.ts'

export type { RuleSnapshot } from './snapshot.ts'

/**
 * Most characters that are parsed in this process. The YAML parser takes up to ten microseconds and
 * a kilobyte for each, and calls wait meanwhile.
 */
const MAX_PARSED_HERE = 32 * 1024

/** The content of a rule file or folder at one moment, not yet parsed. */
export interface RuleSource {
  /** The content hash of the snapshot. */
  readonly contentHash: string
  /** Never rejects. @param signal ends the child that parses */
  read(signal?: AbortSignal): Promise<RuleSnapshot>
}

/**
 * Reads a rule file, or every `*.yaml` and `*.yml` of a folder in the order of names, except
 * `*_test.yaml` and names that begin with a dot. Never rejects: unreadable files are among the
 * problems.
 */
export async function openRules(path: string): Promise<RuleSource> {
  const read = await readRuleFiles(path, labelOf(path))
  const { files, problems } = read
  const isLarge = files.reduce((length, { text }) => length + text.length, 0) > MAX_PARSED_HERE
  return {
    contentHash: contentHash(files, problems),
    read: async (signal) => (isLarge ? readInChild(read, signal) : snapshotOf(files, problems)),
  }
}

/** Keeps the process while it waits for git. */
const waitingTimers: Timers = {
  set: (callback, delayMs) => setTimeout(callback, delayMs),
  clear: (timer) => clearTimeout(timer as NodeJS.Timeout),
}

/** Reads and parses the rules, once git does not write them. */
export async function loadRules(path: string): Promise<RuleSnapshot> {
  const { folders } = await surveyRules(resolve(path))
  return (await whenCheckedOut(folders, () => openRules(path), waitingTimers)).read()
}

/** The path relative to the working directory, unless it is outside. */
function labelOf(path: string): string {
  const near = relative(process.cwd(), resolve(path))
  return near === '' ? basename(path) : near.startsWith(`..${sep}`) || near === '..' ? path : join(near)
}
