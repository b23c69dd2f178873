// Allows one gateway for each folder.

import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { DirectoryHeldError, holdDirectory } from '../../src/store/files/lock.ts'
import { inTime } from '../process/until.ts'

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

/**
 * Holds the folder in a process of its own, and prints the outcome. Keeps nothing but the process:
 * the collector must not free the lock.
 */
const HOLDER = `
  const { setTimeout } = await import('node:timers/promises')
  const { holdDirectory } = await import(process.argv[1])
  const outcome = await holdDirectory(process.argv[2]).then(() => 'held', ({ name }) => name)
  await setTimeout(0)
  gc()
  await setTimeout(0)
  console.log(outcome)
  await setTimeout(60_000)
`

function holder(
  t: Test,
  path: string,
  under: readonly string[],
): Promise<{ outcome: string; child: ChildProcess }> {
  const module = fileURLToPath(new URL('../../src/store/files/lock.ts', import.meta.url))
  const command = [
    ...under,
    process.execPath,
    '--expose-gc',
    '--input-type=module',
    '-e',
    HOLDER,
    module,
    path,
  ]
  const child = spawn(command[0] as string, command.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  return inTime(
    'the folder is held or refused',
    once(child.stdout, 'data').then(([data]) => ({ outcome: String(data).trim(), child })),
  )
}

const UNSHARE = ['unshare', '--map-root-user', '--net']
const isAllowed = spawnSync(UNSHARE[0] as string, [...UNSHARE.slice(1), 'true']).status === 0

t.test(
  'a folder is held once across network namespaces, until its holder is killed',
  { skip: isAllowed ? false : 'NOT TESTED: a network namespace cannot be made here' },
  async (t) => {
    const path = t.testdir()
    const first = await holder(t, path, UNSHARE)
    t.equal(first.outcome, 'held')
    t.equal((await holder(t, path, UNSHARE)).outcome, 'DirectoryHeldError')
    await t.rejects(holdDirectory(path), { name: 'DirectoryHeldError', message: /in use by another gateway/ })
    first.child.kill('SIGKILL')
    await inTime('the holder ends', once(first.child, 'exit'))
    const held = await holdDirectory(path)
    t.equal(held.weakness, null)
    t.equal(statSync(join(path, 'gateway.lock')).size, 0)
    await held.release()
  },
)

t.test('where the file cannot be locked, the lock says so and the folder is held', async (t) => {
  const path = t.testdir({ 'gateway.lock': {} })
  const held = await holdDirectory(path)
  t.match(held.weakness, /unable to open/)
  await held.release()
})
