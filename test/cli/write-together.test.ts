// Files that are written together: all of them or, after a failure, none.

import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { writeTogether } from '../../src/cli/write-together.ts'
import { temporaryFolder } from '../rules/fixture.ts'

/** Everything in a folder, with the text of files. */
const contentOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .sort()
      .map((path) => {
        const state = lstatSync(join(folder, path))
        return [path, state.isDirectory() ? 'a folder' : readFileSync(join(folder, path), 'utf8')]
      }),
  )

const filesIn = (folder: string) =>
  ['a.yaml', 'deep/er/b.yaml', 'c.yaml'].map((name) => ({ path: join(folder, name), text: `new ${name}` }))

t.test('writes files and the folders they need, and replaces those that exist', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'c.yaml'), 'old')
  writeTogether(filesIn(folder))
  t.same(contentOf(folder), {
    'a.yaml': 'new a.yaml',
    'c.yaml': 'new c.yaml',
    deep: 'a folder',
    'deep/er': 'a folder',
    'deep/er/b.yaml': 'new deep/er/b.yaml',
  })
})

t.test('a failure at any rename leaves everything as before', async (t) => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'elsewhere'))
  writeFileSync(join(folder, 'elsewhere/kept'), 'kept')
  symlinkSync('elsewhere/kept', join(folder, 'a.yaml'))
  writeFileSync(join(folder, 'c.yaml'), 'old')
  chmodSync(join(folder, 'c.yaml'), 0o640)
  const before = contentOf(folder)
  // Two files are set aside, three get their names.
  for (let failing = 1; failing <= 5; failing++) {
    let renames = 0
    const failingRename = (from: string, to: string) => {
      if (++renames === failing) throw Object.assign(new Error('no'), { code: 'EIO' })
      renameSync(from, to)
    }
    t.throws(() => writeTogether(filesIn(folder), failingRename as typeof renameSync), {
      message: /^\/.*(a|b|c)\.yaml cannot be written \(EIO\); nothing was changed$/,
    })
    t.same(contentOf(folder), before, `rename ${failing}`)
    t.ok(lstatSync(join(folder, 'a.yaml')).isSymbolicLink())
    t.equal(lstatSync(join(folder, 'c.yaml')).mode & 0o777, 0o640)
  }
})

t.test('a folder that cannot be made is named, and no other is left', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'deep'), 'a file')
  t.throws(() => writeTogether(filesIn(folder)), {
    message: /deep\/er\/b\.yaml cannot be written \(ENOTDIR\)/,
  })
  t.same(contentOf(folder), { deep: 'a file' })
})

t.test('signals have their own effect again afterwards', async (t) => {
  const before = process.listenerCount('SIGINT')
  writeTogether(filesIn(temporaryFolder(t)))
  t.equal(process.listenerCount('SIGINT'), before)
})
