// From a rule file or a folder of them to a snapshot: read here, or in a process beside this one. Knows neither who watches
// nor what is in force.

import { basename, join, relative, resolve, sep } from 'node:path'
import { readRuleFiles } from './files.ts'
import { readBeside } from './read-in-child.ts'
import { contentHash, type RuleSnapshot, snapshotOf } from './snapshot.ts'

export type { RuleSnapshot } from './snapshot.ts'

/**
 * More characters together are read beside: the parser takes up to ten microseconds and a kilobyte for one, and calls wait
 * meanwhile.
 */
const MAX_READ_HERE = 32 * 1024

/** What a rule folder held at one moment, not yet read as rules. */
export interface RuleSource {
  /** That of the snapshot. */
  readonly contentHash: string
  /** Never rejects. @param signal ends a reading that goes on elsewhere */
  read(signal?: AbortSignal): Promise<RuleSnapshot>
}

/**
 * Takes up a rule file or every `*.yaml` and `*.yml` of a folder (but `*_test.yaml` and names that begin with a dot), in
 * the order of their names. Never rejects: what cannot be read is among the problems.
 */
export async function openRules(path: string): Promise<RuleSource> {
  const held = await readRuleFiles(path, labelOf(path))
  const { files, problems } = held
  const isLarge = files.reduce((length, { text }) => length + text.length, 0) > MAX_READ_HERE
  return {
    contentHash: contentHash(files, problems),
    read: async (signal) => (isLarge ? readBeside(held, signal) : snapshotOf(files, problems)),
  }
}

export const loadRules = async (path: string): Promise<RuleSnapshot> => (await openRules(path)).read()

/** The path as seen from the working directory, unless it lies elsewhere. */
function labelOf(path: string): string {
  const near = relative(process.cwd(), resolve(path))
  return near === '' ? basename(path) : near.startsWith(`..${sep}`) || near === '..' ? path : join(near)
}
