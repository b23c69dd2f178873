// The gate of the house; holds the rules of src/README.md. `npm run check` runs it, and so does
// `node test/house/floors.ts`. Prints each breach as `path:line message` and a count by rule; exits 1
// on any breach. This file checks one source file: its floor, its imports, its size and its head.
// tree.ts compares files with each other, prose.ts checks comments and messages.

import { fileURLToPath } from 'node:url'
import { findProseBreaches } from './prose.ts'
import { type Breach, type Import, lineCounter, readSource, readSources, type SourceFile } from './sources.ts'
import { findTreeBreaches } from './tree.ts'

/** Floor of each folder of src/. A file imports from lower floors and from its own folder only. */
const FLOORS: Readonly<Record<string, number>> = {
  core: 0,
  chat: 1,
  detect: 1,
  keyword: 1,
  audit: 1,
  policy: 2,
  keys: 2,
  usage: 2,
  store: 3,
  ledger: 3,
  fleet: 3,
  jwt: 3,
  rules: 3,
  prices: 3,
  upstream: 3,
  recognisers: 3,
  metrics: 3,
  pipeline: 4,
  server: 5,
  demo: 5,
  rulecheck: 5,
  boot: 6,
  cli: 6,
  gateway: 6,
  hub: 7,
}
/** Files directly in src/. */
const TOP_FLOOR = 8
/**
 * Folders inside a folder of src/, from the lowest floor to the highest; those of one row do not
 * import each other. `''` is the files beside them, which are on no inner floor without it.
 */
const INNER_FLOORS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  store: [
    ['files'],
    ['tables'],
    ['journal'],
    ['environment'],
    ['rollup', 'limits'],
    ['log'],
    ['keys', 'rules', 'sessions'],
    ['opening', 'verification'],
    [''],
  ],
  chat: [['inner-json'], ['messages', 'responses']],
  pipeline: [['scan', 'limits'], ['call'], ['prompt'], ['record'], ['answer'], ['']],
}
/** Folders that run before dependencies are loaded, and the folders they import. */
const LIMITED: Readonly<Record<string, readonly string[]>> = { boot: ['core'] }
/** Runs in the browser: shares no code with the server but that of BROWSER_CODE, and the types of these. */
const BROWSER = 'console'
const BROWSER_TYPES = new Set(['src/audit/entry-fields.ts'])
/** What a hidden character is, and which cell a spreadsheet runs, is written down once. */
const BROWSER_CODE = new Set(['src/core/hidden-characters.ts', 'src/core/csv.ts'])
const BROWSER_PACKAGES = new Set(['preact', 'uplot'])

/** Packages and the folders that may import them. */
const ADAPTERS: Readonly<Record<string, readonly string[]>> = {
  lmdb: ['store'],
  pg: ['ledger'],
  undici: ['upstream'],
  jose: ['jwt'],
  chokidar: ['rules'],
  'prom-client': ['metrics'],
  ajv: ['core'],
  yaml: ['core'],
  re2js: ['keyword'],
  pino: ['gateway'],
  'openid-client': ['gateway'],
}

/** Folders whose results depend on arguments alone. */
const PURE_FOLDERS = new Set(['chat', 'detect', 'keyword', 'audit', 'policy', 'keys', 'usage'])
const PURE_BUILTINS = new Set(['node:crypto', 'node:buffer', 'node:net'])
const IMPURE =
  /\b(?:Date\.now|new Date\(\)|Math\.random|performance\.now|setTimeout|setInterval|randomBytes|randomUUID|process\.)/

/** V8 makes a prototype and a shape for each nested generator: 3 µs a call, 30 times a top-level one. */
const NESTED_GENERATOR = /^\s.*\bfunction\*/

/** A permit is a proof: no cast makes one, and only forwarding uses one. */
const PERMIT_CAST = /\bas\s+Permit\b|<Permit>/
const PERMIT_USE = /\busePermit\b/
const PERMIT_MAKER = 'src/policy/decide.ts'
const PERMIT_USER = 'src/upstream/upstreams.ts'
/** Files that ask for a permit: of a scanned prompt, and of a call that is not scanned. */
const PERMIT_ASKERS = new Set(['src/pipeline/prompt/decide-prompt.ts', 'src/pipeline/decide-unscanned.ts'])
const PERMIT_REQUEST = /^import\s*\{[^}]*\bdecide\b[^}]*\}/m

const FORBIDDEN_NAMES = /(?:^|\/)(?:utils?|helpers?|common|services?|managers?)(?:\/|\.ts$)/
const MAXIMUM_LINES = 450
/** Above it a file is named, which is not a breach. */
const WARNED_LINES = 300
/** Files without a limit besides data tables: the description of the API is as long as the API. */
const UNLIMITED_LENGTH = /(?:^|\/)openapi\.ts$/
const HEAD = /^(?:#!.*\n)?\/\//

/** Folder below src/; '' for files directly in src/. */
const folderOf = (path: string): string => /^src\/([^/]+)\//.exec(path)?.[1] ?? ''
/** Folder below a folder of src/; '' for files directly in it. */
const innerFolderOf = (path: string): string => /^src\/[^/]+\/([^/]+)\//.exec(path)?.[1] ?? ''
const floorOf = (folder: string): number => (folder === '' ? TOP_FLOOR : (FLOORS[folder] ?? Number.NaN))

/** Lines of a file whose length is limited; 0 for any other. */
const limitedLines = ({ path, text, isDataTable }: SourceFile): number =>
  isDataTable || UNLIMITED_LENGTH.test(path) ? 0 : text.replace(/\n$/, '').split('\n').length

/** Breaches of a file in src/ that show without the other files. */
export function findFileBreaches(file: SourceFile): Breach[] {
  const { path, text, code } = file
  const folder = folderOf(path)
  const breaches: Breach[] = []
  const add = (rule: string, line: number, message: string) => breaches.push({ rule, path, line, message })
  if (Number.isNaN(floorOf(folder)) && folder !== BROWSER)
    add('folder', 1, `is in folder ${folder}, which has no floor; add it to FLOORS in test/house/floors.ts`)
  const innerFolder = innerFolderOf(path)
  if (innerFolder !== '' && INNER_FLOORS[folder]?.flat().includes(innerFolder) === false)
    add(
      'folder',
      1,
      `is in folder ${innerFolder}, which has no floor; add it to INNER_FLOORS in test/house/floors.ts`,
    )
  if (FORBIDDEN_NAMES.test(path)) add('file name', 1, 'has a name that fits any content; name what it owns')
  const lines = limitedLines(file)
  if (lines > MAXIMUM_LINES)
    add('file length', 1, `has ${lines} lines; split it, at most ${MAXIMUM_LINES} are allowed`)
  if (!HEAD.test(text)) add('file head', 1, 'has no head; say in a first comment what the file owns')
  for (const one of file.imports) {
    const [rule, message] = judgeImport(path, one) ?? []
    if (rule !== undefined && message !== undefined) add(rule, one.line, message)
  }
  const asked = PERMIT_REQUEST.exec(code)
  if (asked !== null && !PERMIT_ASKERS.has(path))
    add(
      'permit',
      lineCounter(code)(asked.index),
      `imports decide; only ${[...PERMIT_ASKERS].join(' and ')} ask for a permit`,
    )
  code.split('\n').forEach((line, index) => {
    if (NESTED_GENERATOR.test(line))
      add('nested generator', index + 1, 'makes a generator inside a function; move it to the top level')
    if (path !== PERMIT_MAKER && PERMIT_CAST.test(line))
      add('permit', index + 1, `casts to Permit; only ${PERMIT_MAKER} makes one`)
    if (path !== PERMIT_MAKER && path !== PERMIT_USER && PERMIT_USE.test(line))
      add('permit', index + 1, `uses a permit; only ${PERMIT_USER} may`)
    if (PURE_FOLDERS.has(folder) && IMPURE.test(line))
      add('pure floor', index + 1, 'uses time, randomness or the process; take the value as an argument')
  })
  return breaches
}

/** @returns the rule and the message, null for an import that is allowed */
function judgeImport(path: string, { specifier, target, isType }: Import): [string, string] | null {
  const folder = folderOf(path)
  if (folder === BROWSER && target !== undefined)
    if (BROWSER_CODE.has(target) || (isType && BROWSER_TYPES.has(target))) return null
  if (target !== undefined)
    return folderOf(target) === folder ? judgeInner(path, target) : judgeFile(folder, target)
  if (folder === BROWSER) {
    if (BROWSER_PACKAGES.has(specifier.split('/', 1)[0]!)) return null
    return ['floor', `imports ${specifier}; ${BROWSER}/ runs in the browser without it`]
  }
  if (specifier.startsWith('node:')) {
    if (!PURE_FOLDERS.has(folder) || PURE_BUILTINS.has(specifier)) return null
    return ['pure floor', `imports ${specifier}; take what it provides as an argument`]
  }
  const name = specifier.split('/', 1)[0]!
  const folders = ADAPTERS[name]
  if (folders === undefined)
    return ['adapter', `imports ${name}, which has no adapter; add it to ADAPTERS in test/house/floors.ts`]
  if (folders.includes(folder)) return null
  return ['adapter', `imports ${name}; only ${folders.join(', ')} may, so use what that folder exports`]
}

function judgeFile(folder: string, target: string): [string, string] | null {
  const other = folderOf(target)
  if (folder === BROWSER || other === BROWSER)
    return ['floor', `imports ${target}; ${BROWSER}/ runs in the browser and shares no file with the server`]
  const allowed = LIMITED[folder]
  if (allowed !== undefined && !allowed.includes(other))
    return ['floor', `imports ${target}; ${folder}/ may import only ${allowed.join(', ')}`]
  return judgeFloors(target, floorOf(folder), floorOf(other))
}

/** Judges an import within a folder of src/. */
function judgeInner(path: string, target: string): [string, string] | null {
  const folder = innerFolderOf(path)
  const other = innerFolderOf(target)
  const floors = INNER_FLOORS[folderOf(path)]
  if (folder === other || floors === undefined) return null
  const [own = -1, floor = -1] = [folder, other].map((one) => floors.findIndex((row) => row.includes(one)))
  return own < 0 || floor < 0 ? null : judgeFloors(target, own, floor)
}

function judgeFloors(target: string, own: number, floor: number): [string, string] | null {
  if (floor < own) return null
  const where = floor === own ? 'the same floor' : 'a higher floor'
  return [
    'floor',
    `imports ${target} from ${where} (${floor}, own ${own}); move what both need to a lower floor`,
  ]
}

export const formatBreach = ({ path, line, message }: Breach): string => `${path}:${line} ${message}`

/** Breaches of src/, and those of the prose of the build script. */
export function findAllBreaches(sources: readonly SourceFile[]): Breach[] {
  return [
    ...sources.flatMap(findFileBreaches),
    ...findTreeBreaches(sources),
    ...[...sources, readSource('.build.ts'), readSource('.build-console.ts')].flatMap(findProseBreaches),
  ]
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sources = readSources()
  const breaches = findAllBreaches(sources)
  for (const file of sources) {
    const lines = limitedLines(file)
    if (lines > WARNED_LINES && lines <= MAXIMUM_LINES)
      console.error(`warning: ${file.path} has ${lines} lines; consider splitting it above ${WARNED_LINES}`)
  }
  for (const breach of breaches) console.error(formatBreach(breach))
  const counts = Map.groupBy(breaches, ({ rule }) => rule)
  for (const [rule, { length }] of counts) console.log(`floors: ${rule}: ${length}`)
  console.log(`floors: ${sources.length} files, ${breaches.length} breaches`)
  process.exitCode = breaches.length === 0 ? 0 : 1
}
