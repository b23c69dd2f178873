// Surveys a rule path without reading content: which files are links, where they lead, and when
// anything changed.

import { readdir, realpath, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isRuleFileName, MAXIMUM_FILES } from './files.ts'

export interface RuleSurvey {
  /** Rule files of the folder that are links. */
  readonly links: readonly string[]
  /** The folder of the path and those that the files are in, all links resolved. */
  readonly folders: readonly string[]
  /** Differs when a file was added, removed, written, or resolves to another one. */
  readonly signature: string
}

/** Surveys a rule file or folder, at most as many files as may hold rules. Never rejects. */
export async function surveyRules(root: string): Promise<RuleSurvey> {
  const top = await stat(root).catch(() => null)
  const folders = new Set([dirname(root)])
  if (top === null) return { links: [], folders: [...folders], signature: 'missing' }
  const isFolder = top.isDirectory()
  const entries = isFolder ? await readdir(root, { withFileTypes: true }).catch(() => []) : []
  const files = entries.filter(({ name }) => isRuleFileName(name)).slice(0, MAXIMUM_FILES)
  const links = files.filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(root, name))
  const paths = isFolder ? files.map(({ name }) => join(root, name)).sort() : [root]
  if (isFolder) folders.add(await realpath(root).catch(() => root))
  const isLink = new Set(links)
  const states = await Promise.all(
    paths.map(async (path) => {
      const target = isFolder && !isLink.has(path) ? path : await realpath(path).catch(() => '')
      if (target !== path && target !== '') folders.add(dirname(target))
      const found = await stat(path, { bigint: true }).catch(() => null)
      return [path, target, found?.dev, found?.ino, found?.size, found?.mtimeNs, found?.ctimeNs].join(' ')
    }),
  )
  return { links, folders: [...folders], signature: [String(entries.length), ...states].join('\n') }
}
