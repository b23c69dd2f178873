// Creation of folders.

import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { makeFolder } from '../../src/store/files/folder.ts'

t.test('makeFolder creates missing folders only', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'sidegate-folder-'))
  t.teardown(() => rmSync(root, { recursive: true }))
  const folder = join(root, 'a', 'b', 'c')
  makeFolder(folder)
  makeFolder(folder)
  t.equal(statSync(folder).mode & 0o777, 0o700)
  const file = join(root, 'file')
  writeFileSync(file, '')
  t.throws(() => makeFolder(file), { code: 'EEXIST' })
  t.throws(() => makeFolder(join(file, 'x')), { code: 'EEXIST' })
})

t.test(
  'makeFolder fails where the system rejects folders',
  { skip: !existsSync('/proc/self') },
  async (t) => {
    t.throws(() => makeFolder('/proc/x/y'), { code: 'ENOENT' })
  },
)
