// `sidegate init`: writes a configuration, sample rules with their tests, and a price book.

import { existsSync, lstatSync, readdirSync, type Stats, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { visibleLine } from '../core/hidden-characters.ts'
import { type Command, type ExitCode, parseArguments, UsageError, writeLine } from './command.ts'
import { CONFIGURATION, EXTRAS, type Extra, initFiles } from './init-files.ts'
import { type NewFile, writeTogether } from './write-together.ts'

const HELP = `Usage: sidegate init [FOLDER] [--github] [--compose] [--helm] [--systemd]
                     [--force] [--json]

Writes a configuration with comments (sidegate.yaml), sample rules with tests (rules/)
and a price book (prices.yaml) into FOLDER, by default the working directory, and the
schemas by which editors check them (.sidegate/). Writes all files or none, and replaces
none that exists. Where FOLDER has a sidegate.yaml already, the options write their own
files alone. In a pipe the output is JSON.

  --github   also .github/workflows/sidegate.yml: checks and tests pull requests
  --compose  also compose.yaml: the gateway in a container
  --helm     also values.yaml: values of the Helm chart
  --systemd  also sidegate.service: a hardened unit, for this FOLDER
  --force    replace files that exist
  --json     JSON also on a terminal
  --help     print this text

Exit: 0 written; 1 nothing was written, because files exist or cannot be written; 2 could
not run.
`

const OPTIONS = {
  github: { type: 'boolean' },
  compose: { type: 'boolean' },
  helm: { type: 'boolean' },
  systemd: { type: 'boolean' },
  force: { type: 'boolean' },
  json: { type: 'boolean' },
} as const

/** Characters that mean themselves everywhere in a unit file. */
const UNIT_PATH = /^[\w./@:+,-]+$/

/** @param samples folder of the sample configuration */
export const init = (samples: string): Command => ({
  name: 'init',
  summary: 'write a configuration, sample rules with tests and a price book',
  options: OPTIONS,
  argument: 'path',
  help: HELP,
  async run(args, io): Promise<ExitCode> {
    const { values, positionals } = parseArguments(args, OPTIONS)
    const [named = '.', extra] = positionals
    if (extra !== undefined)
      throw new UsageError(`unexpected argument ${visibleLine(extra)}; give one FOLDER`)
    const folder = resolve(named)
    if (values.systemd === true && !UNIT_PATH.test(folder))
      throw new UsageError(
        `a unit file cannot name ${visibleLine(folder)}; choose a folder of letters, digits and . _ @ : + , -`,
      )
    const extras = (Object.keys(EXTRAS) as Extra[]).filter((name) => values[name] === true)
    // More files for a folder whose own are in use.
    const isAddition = extras.length > 0 && existsSync(join(folder, CONFIGURATION))
    const files = initFiles(samples, folder, extras, isAddition)
    const replaced = existing(folder, files, values.force === true)
    writeTogether(files.map(({ path, text }) => ({ path: join(folder, path), text })))
    const written = files.map(({ path }) => path)
    writeLine(
      io.out,
      values.json === true || !io.out.isTTY
        ? JSON.stringify({ folder, written, replaced })
        : describe(named, folder, written, extras),
    )
    return 0
  },
})

/**
 * Returns the files that exist and may be replaced.
 * @throws Error that names everything in the way
 */
function existing(folder: string, files: readonly NewFile[], isForced: boolean): readonly string[] {
  const inTheWay: string[] = []
  const found: string[] = []
  const folders = new Set(files.flatMap(({ path }) => foldersAbove(join(folder, path))))
  for (const above of folders)
    if (stateOf(above)?.isDirectory() === false) inTheWay.push(`${above} is not a folder`)
  if (inTheWay.length > 0) throw new Error(refusal(inTheWay, 'choose another FOLDER'))
  for (const { path } of files) {
    const state = lstatSync(join(folder, path), { throwIfNoEntry: false })
    if (state?.isDirectory() === true) inTheWay.push(`${join(folder, path)} is a folder`)
    else if (state !== undefined) found.push(path)
  }
  if (inTheWay.length > 0) throw new Error(refusal(inTheWay, 'choose another FOLDER'))
  if (isForced) return found
  inTheWay.push(...found.map((path) => `${join(folder, path)} exists`))
  const others = files.some(({ path }) => path === CONFIGURATION) ? otherRules(folder, files) : []
  if (others.length > 0) inTheWay.push(`${join(folder, 'rules')} has other files (${others.join(', ')})`)
  if (inTheWay.length > 0)
    throw new Error(refusal(inTheWay, 'choose another FOLDER, or replace the files that exist with --force'))
  return found
}

const refusal = (reasons: readonly string[], remedy: string): string =>
  `${reasons.map(visibleLine).join('; ')}; nothing was written: ${remedy}`

/** Files in the rules folder that the sample rules would join. */
function otherRules(folder: string, files: readonly NewFile[]): readonly string[] {
  const rules = join(folder, 'rules')
  if (!existsSync(rules)) return []
  const samples = new Set(files.map(({ path }) => path))
  return readdirSync(rules).filter((name) => !samples.has(`rules/${name}`) && !name.startsWith('.'))
}

/** The state of what a path leads to; undefined if nothing has the name. */
function stateOf(path: string): Stats | undefined {
  for (const read of [statSync, lstatSync]) {
    try {
      return read(path)
    } catch {
      // A dangling link, nothing, or below something that is no folder.
    }
  }
  return undefined
}

const foldersAbove = (path: string): readonly string[] =>
  dirname(path) === path ? [] : [dirname(path), ...foldersAbove(dirname(path))]

const NOTES: Readonly<Record<Extra, string>> = {
  github: 'GitHub runs the workflow from the root of a repository only',
  compose: 'the first lines of compose.yaml say how to start the container',
  helm: 'the first lines of values.yaml say how to install the chart',
  systemd: 'the first lines of sidegate.service say how to install the unit',
}

function describe(
  named: string,
  folder: string,
  written: readonly string[],
  extras: readonly Extra[],
): string {
  return [
    `Wrote into ${visibleLine(folder)}:`,
    ...written.map((path) => `  ${path}`),
    '',
    'Next:',
    ...(named === '.' ? [] : [`  cd ${visibleLine(named)}`]),
    '  sidegate check && sidegate test',
    '  export OPENROUTER_API_KEY=…      # credential of the provider in sidegate.yaml',
    '  export SIDEGATE_ADMIN_TOKEN=…    # a random string of at least 16 characters',
    '  sidegate serve',
    '  sidegate keys create --name my-app    # in a second terminal',
    ...extras.map((extra) => `Note: ${NOTES[extra]}.`),
  ].join('\n')
}
