// Finds files in a rules folder that look like rules and that the gateway does not read.

import { readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Problem } from '../core/problem.ts'
import { isRuleFileName, isRuleTestName } from '../rules/files.ts'
import { counted } from './report.ts'
import { labelOf } from './rule-sources.ts'

/** Names that differ from those of rule files only in case. */
const LIKE_RULES = /\.ya?ml$/i
const LIKE_TESTS = /_test\.ya?ml$/i

/**
 * Returns a warning for each such file and sub-folder; none when the path is a file.
 * @param read paths that are read in any case
 */
export async function findUnread(path: string, read: readonly string[]): Promise<Problem[]> {
  const entries = await readdir(path).catch(() => [])
  const others = entries.filter(
    (name) => isUnread(name) && !read.some((one) => isWithin(one, join(path, name))),
  )
  const found = await Promise.all(others.sort().map((name) => whyUnread(join(path, name), name)))
  return others.flatMap((name, index) => {
    const message = found[index] ?? null
    return message === null
      ? []
      : [{ file: join(labelOf(path), name), line: 0, column: 0, path: '', message }]
  })
}

/** Hidden files are ignored: editors keep their copies so, and ConfigMaps their versions. */
const isUnread = (name: string): boolean =>
  !name.startsWith('.') && !isRuleFileName(name) && !isRuleTestName(name)

const isWithin = (path: string, folder: string): boolean =>
  `${resolve(path)}/`.startsWith(`${resolve(folder)}/`)

async function whyUnread(path: string, name: string): Promise<string | null> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) {
    return LIKE_RULES.test(name)
      ? 'is not read: names of rule files end in .yaml or .yml in lower case; rename it'
      : null
  }
  const below = await readdir(path, { recursive: true }).catch(() => [])
  const rules = below.filter((one) => LIKE_RULES.test(one) && !LIKE_TESTS.test(one)).length
  return rules === 0
    ? null
    : `is not read, and holds ${counted(rules, '*.yaml file')}: the gateway reads no sub-folders; move the files up`
}
