// The files that `sidegate init` writes: the samples of the package, with paths that fit their new
// folder.

import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { VERSION } from '../core/version.ts'
import type { NewFile } from './write-together.ts'

/** Files on request: the option, the sample, and where it goes. */
export const EXTRAS = {
  github: { sample: 'install/workflow.yaml', target: '.github/workflows/sidegate.yml' },
  compose: { sample: 'install/compose.yaml', target: 'compose.yaml' },
  helm: { sample: 'install/values.yaml', target: 'values.yaml' },
  systemd: { sample: 'install/sidegate.service', target: 'sidegate.service' },
} as const

export type Extra = keyof typeof EXTRAS

/** The file that names all others. */
export const CONFIGURATION = 'sidegate.yaml'

/** Keeps keys and the texts of calls out of version control. */
const IGNORED_DATA = { path: 'data/.gitignore', text: '*\n' }

/** Where the schemas go that editors read. Those of the package are in the folder of samples. */
const SCHEMAS = '.sidegate'

/** Words of the samples that hold only where they are, with what replaces them. */
const REPLACEMENTS: readonly (readonly [found: RegExp, replacement: string])[] = [
  [/(?<=^|[\s=/])([\w-]+\.schema\.json)/gm, `${SCHEMAS}/$1`],
  [/^( +path: )\.\.\/data$/m, '$1data # holds what people write; its .gitignore keeps it out of git'],
  [/\bconfig\/rules\b/g, 'rules'],
]

/**
 * Reads the samples and returns the files, with paths relative to the folder.
 * @param samples folder of the samples
 * @param folder absolute path of the new folder
 * @param isAddition whether to return the files of `extras` alone
 * @throws Error that names a sample that is missing
 */
export function initFiles(
  samples: string,
  folder: string,
  extras: readonly Extra[],
  isAddition: boolean,
): readonly NewFile[] {
  const read = (name: string): string =>
    fromPackage(join(samples, name), (path) => readFileSync(path, 'utf8'))
  const added = extras.map((extra) => ({
    path: EXTRAS[extra].target,
    text: read(EXTRAS[extra].sample)
      .replaceAll('{{package}}', publishedPackage(samples))
      .replaceAll('{{folder}}', folder),
  }))
  if (isAddition) return added
  const fit = (text: string): string =>
    REPLACEMENTS.reduce((fitted, [found, replacement]) => fitted.replace(found, replacement), text)
  const rules = fromPackage(join(samples, 'rules'), (path) => readdirSync(path)).filter((name) =>
    name.endsWith('.yaml'),
  )
  const documents = [CONFIGURATION, 'prices.yaml', ...rules.sort().map((name) => `rules/${name}`)].map(
    (name) => ({ path: name, text: fit(read(name)) }),
  )
  const schemas = new Set(documents.flatMap(({ text }) => schemaOf(text) ?? []))
  const copies = [...schemas].map((name) => ({ path: `${SCHEMAS}/${name}`, text: read(name) }))
  return [...documents, ...copies, IGNORED_DATA, ...added]
}

/**
 * Returns the package that runs here, for npx; empty for a checkout. A release gives the package
 * the name of its repository; another one of the bare name is somebody else's.
 */
function publishedPackage(samples: string): string {
  const { name } = JSON.parse(readFileSync(join(samples, '../package.json'), 'utf8')) as { name: string }
  return name.startsWith('@') ? `${name}@${VERSION}` : ''
}

function fromPackage<Content>(path: string, read: (path: string) => Content): Content {
  try {
    return read(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(`the sample ${path} is missing from the package (${code}); install it again`)
  }
}

/** The file name of the schema that the first line names. */
function schemaOf(text: string): string | null {
  const path = /^# yaml-language-server: \$schema=(\S+)/.exec(text)?.[1]
  return path === undefined ? null : basename(path)
}
