// Reduces package.json and the documents to what npm publishes, while it packs: `prepack` runs
// `node .pack.ts reduce` and `postpack` `node .pack.ts restore`. The program is one file with all it
// uses but lmdb, and scripts and most of the source stay here.

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

if (process.argv[2] === 'reduce') reduce()
else restore()
