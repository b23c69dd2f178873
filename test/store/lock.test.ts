// Allows one gateway for each folder.

import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { DirectoryHeldError, holdDirectory } from '../../src/store/folder/lock.ts'

for (const platform of ['linux', 'darwin'] as const) {
  t.test(`a folder is held once (${platform})`, { skip: process.platform !== 'linux' }, async (t) => {
    const path = t.testdir({ one: {}, two: {} })
    const one = join(path, 'one')
    const held = await holdDirectory(one, platform)
    t.equal(readFileSync(join(one, 'gateway.pid'), 'utf8'), String(process.pid))
    const other = await holdDirectory(join(path, 'two'), platform)
    await other.release()
    if (platform === 'linux') {
      symlinkSync(one, join(path, 'alias'))
      for (const name of ['one', 'alias']) {
        const error: unknown = await holdDirectory(join(path, name), platform).catch((reason) => reason)
        t.ok(error instanceof DirectoryHeldError)
        t.match(error, { message: new RegExp(`in use by the gateway with process id ${process.pid}; stop`) })
      }
    }
    await held.release()
    await (await holdDirectory(one, platform)).release()
  })
}

t.test('a pid file of a living process holds the folder, one of a dead process does not', async (t) => {
  const path = t.testdir()
  const file = join(path, 'gateway.pid')
  writeFileSync(file, String(process.ppid))
  await t.rejects(holdDirectory(path, 'darwin'), DirectoryHeldError)
  const dead = promisify(execFile)(process.execPath, ['-e', ''])
  await dead
  writeFileSync(file, String(dead.child.pid))
  const held = await holdDirectory(path, 'darwin')
  t.equal(readFileSync(file, 'utf8'), String(process.pid))
  await held.release()
})
