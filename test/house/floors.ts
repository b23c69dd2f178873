// Holds the house rules of src/README.md: imports go down only, adapters are named in one folder, the pure floor stays
// pure, files stay readable. Prints every breach as file:line and exits 1; run by `npm run check`.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..')
const SOURCE = join(ROOT, 'src')

/** Floor of each folder of src/; files directly in src/ stand above them all. */
const FLOORS: Readonly<Record<string, number>> = {
  core: 0,
  chat: 1,
  detect: 1,
  policy: 1,
  audit: 1,
  store: 2,
  rules: 2,
  upstream: 2,
  metrics: 2,
  pipeline: 3,
  server: 4,
  demo: 4,
  rulecheck: 4,
  cli: 5,
  gateway: 5,
}
const TOP_FLOOR = 6

/** Packages and the folders that may name them. */
const ADAPTERS: Readonly<Record<string, readonly string[]>> = {
  lmdb: ['store'],
  undici: ['upstream'],
  chokidar: ['rules'],
  'prom-client': ['metrics'],
  ajv: ['core'],
  yaml: ['core'],
  re2js: ['policy'],
  pino: ['gateway'],
}

/** What the pure floor may take from Node: functions of their arguments. */
const PURE_BUILTINS = new Set(['node:crypto', 'node:buffer', 'node:net'])
const IMPURE =
  /\b(?:Date\.now|new Date\(\)|Math\.random|performance\.now|setTimeout|setInterval|randomBytes|randomUUID|process\.)/

/** Each use of such a one makes a prototype and a shape for it: 3 µs, where a generator of the module takes a thirtieth. */
const NESTED_GENERATOR = /^\s+.*\bfunction\*/

const SPECIFIER = /^(?:import|export|\}).* from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/
const FORBIDDEN_NAMES = /(?:^|\/)(?:utils?|helpers?|common|services?|managers?)(?:\/|\.ts$)/
const MAX_LINES = 300
/** Tables of data are as long as the data. */
const DATA_FILES = /(?:-table|-data|weights|openapi)\.ts$/

export interface SourceFile {
  /** Relative to src/, with `/`. */
  readonly path: string
  readonly text: string
}

/** Every TypeScript file below src/. */
export function readSources(): SourceFile[] {
  return readdirSync(SOURCE, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: relative(SOURCE, path).replaceAll('\\', '/'), text: readFileSync(path, 'utf8') }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}

const folderOf = (path: string): string => (path.includes('/') ? path.slice(0, path.indexOf('/')) : '')
const floorOf = (folder: string): number => (folder === '' ? TOP_FLOOR : (FLOORS[folder] ?? Number.NaN))

/** Breaches of one file, each as `path:line message`. */
export function findBreaches({ path, text }: SourceFile): string[] {
  const folder = folderOf(path)
  const floor = floorOf(folder)
  const breaches: string[] = []
  const lines = text.split('\n')
  const add = (line: number, message: string) => breaches.push(`src/${path}:${line} ${message}`)
  if (Number.isNaN(floor)) add(1, `folder ${folder} has no floor`)
  if (FORBIDDEN_NAMES.test(path)) add(1, 'is named after nothing in particular')
  if (lines.length > MAX_LINES && !DATA_FILES.test(path))
    add(1, `has ${lines.length} lines, more than ${MAX_LINES}`)
  if (!text.startsWith('//') && !text.startsWith('#!')) add(1, 'has no head saying what it owns')
  lines.forEach((line, index) => {
    const specifier = SPECIFIER.exec(line)
      ?.slice(1)
      .find((one) => one !== undefined)
    if (specifier !== undefined) {
      const breach = judgeImport(path, folder, floor, specifier)
      if (breach !== null) add(index + 1, breach)
    }
    const code = line.replace(/\/\/.*$|^\s*\*.*$/, '')
    if (NESTED_GENERATOR.test(code)) add(index + 1, 'makes a generator inside a function')
    if (floor === 1 && IMPURE.test(code)) add(index + 1, 'takes time, randomness or the process from outside')
  })
  return breaches
}

function judgeImport(path: string, folder: string, floor: number, specifier: string): string | null {
  if (specifier.startsWith('node:')) {
    return floor === 1 && !PURE_BUILTINS.has(specifier) ? `imports ${specifier} on the pure floor` : null
  }
  if (!specifier.startsWith('.')) {
    const name = specifier.split('/', 1)[0] ?? specifier
    const allowed = ADAPTERS[name]
    if (allowed === undefined) return `imports ${name}, which no folder is known to adapt`
    return allowed.includes(folder)
      ? null
      : `imports ${name}, which only ${allowed.join(', ') || 'src/*.ts'} may`
  }
  const target = relative(SOURCE, resolve(SOURCE, dirname(path), specifier)).replaceAll('\\', '/')
  const targetFolder = folderOf(target)
  if (targetFolder === folder) return null
  return floorOf(targetFolder) < floor ? null : `imports ${target} from the same floor or a higher one`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sources = readSources()
  const breaches = sources.flatMap(findBreaches)
  for (const breach of breaches) console.error(breach)
  console.log(`floors: ${sources.length} files, ${breaches.length} breaches`)
  process.exitCode = breaches.length === 0 ? 0 : 1
}
