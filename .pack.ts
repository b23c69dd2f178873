// Reduces package.json and the documents to what npm publishes, while it packs: `prepack` runs
// `node .pack.ts reduce` and `postpack` `node .pack.ts restore`. The program is one file with all it
// uses but lmdb, and scripts and most of the source stay here. The Dockerfile reduces package.json to
// the packages that are in the image (`shipped`) and to those that npm installs there (`installed`).

import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

const ROOT = import.meta.dirname
/** The files as they were; present only while npm packs. */
const KEPT = join(ROOT, '.packing')
/** What npm installs with the program: it has native code. */
const DEPENDENCY = 'lmdb'
/** Packages of the console, which a build puts into its script. */
const CONSOLE = ['preact', 'uplot']
/** Runs in a checkout only. */
const CHECKOUT_ONLY = '.require-node.cjs'
/** A relative link of a document. */
const LINK = /\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)\s]*)?\)/g

/** Replaces the files, after the end of a reduction that was interrupted. */
function reduce(): void {
  restore()
  const before = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const { devDependencies: _, allowScripts: _1, overrides: _2, tap: _3, knip: _4, ...rest } = before
  const reduced = {
    ...rest,
    files: before.files.filter((file: string) => file !== CHECKOUT_ONLY),
    // npm reads the script that restores this file from this file, and runs it for no consumer.
    scripts: { postpack: before.scripts.postpack },
    dependencies: { [DEPENDENCY]: before.dependencies[DEPENDENCY] },
  }
  const packed = new Set(packedFiles())
  const isPacked = (path: string) => packed.has(path) || [...packed].some((one) => one.startsWith(`${path}/`))
  const changes = new Map([['package.json', `${JSON.stringify(reduced, null, 2)}\n`]])
  for (const path of [...packed].filter((one) => one.endsWith('.md'))) {
    const text = readFileSync(join(ROOT, path), 'utf8')
    const linked = text.replace(LINK, (link, words: string, target: string) =>
      isPacked(join(dirname(path), target).replace(/\/$/, '')) ? link : words,
    )
    if (linked !== text) changes.set(path, linked)
  }
  const unfinished = `${KEPT}.new`
  rmSync(unfinished, { recursive: true, force: true })
  for (const path of changes.keys()) {
    mkdirSync(join(unfinished, dirname(path)), { recursive: true })
    cpSync(join(ROOT, path), join(unfinished, path), { preserveTimestamps: true })
  }
  renameSync(unfinished, KEPT)
  for (const [path, text] of changes) writeFileSync(join(ROOT, path), text)
}

/** Paths of what npm would pack now. */
function packedFiles(): string[] {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=silent']
  const packs = JSON.parse(execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8' }))
  // npm 11 prints a list of packages, later versions an object.
  const [{ files }] = Object.values(packs) as [{ files: { path: string }[] }]
  return files.map(({ path }) => path).filter((path) => path !== CHECKOUT_ONLY)
}

/** Puts every file back; does nothing unless they are reduced. */
function restore(): void {
  if (!existsSync(KEPT)) return
  for (const name of readdirSync(KEPT))
    cpSync(join(KEPT, name), join(ROOT, name), { recursive: true, preserveTimestamps: true })
  rmSync(KEPT, { recursive: true })
}

/** Leaves some packages in package.json, and no scripts. */
function leave(isLeft: (name: string, isDevelopment: boolean) => boolean): void {
  const file = join(ROOT, 'package.json')
  const { scripts: _, dependencies, devDependencies = {}, ...rest } = JSON.parse(readFileSync(file, 'utf8'))
  const left = Object.entries({ ...devDependencies, ...dependencies }).filter(([name]) =>
    isLeft(name, !(name in dependencies)),
  )
  writeFileSync(file, `${JSON.stringify({ ...rest, dependencies: Object.fromEntries(left) }, null, 2)}\n`)
}

const action = process.argv[2]
if (action === 'reduce') reduce()
else if (action === 'shipped') leave((name, isDevelopment) => !isDevelopment || CONSOLE.includes(name))
else if (action === 'installed') leave((name) => name === DEPENDENCY)
else restore()
