// The child that reads a data directory for `sidegate audit verify`: it ends with its parent, and its own end is told.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { openStore } from '../../src/store/store.ts'
import { MAIN, writeDeployment } from './gateway.ts'

const SOON_MS = 10

/** A check that is under way, its child stopped so that it stays so. */
async function checking(t: Test) {
  const { folder, file } = writeDeployment({
    upstreamUrl: 'http://127.0.0.1:1/v1',
    folder: t.testdir(),
    rules: 'rules: []\n',
  })
  const path = join(folder, 'data')
  await openStore({ path, clock: systemClock, random: randomBytes, maxBytes: 1024 ** 3 }).close()
  const parent = spawn(process.execPath, [MAIN, 'audit', 'verify', '--config', file])
  const output = { stdout: '', stderr: '' }
  parent.stdout.on('data', (data) => (output.stdout += data))
  parent.stderr.on('data', (data) => (output.stderr += data))
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    parent.once('close', (code, signal) => resolve(code ?? signal)),
  )
  const place = `/proc/${parent.pid}`
  const childOf = () => Number(readFileSync(join(place, `task/${parent.pid}/children`), 'utf8'))
  const isOwn = (pid: number) =>
    readFileSync(`/proc/${pid}/environ`, 'utf8').includes('SIDEGATE_AUDIT_READER')
  while (childOf() === 0 || !isOwn(childOf())) await delay(SOON_MS)
  // It is what it is going to be: the parent has nothing left to do but to wait for it.
  while (!/\) S /.test(readFileSync(join(place, 'stat'), 'utf8'))) await delay(SOON_MS)
  const child = childOf()
  process.kill(child, 'SIGSTOP')
  t.teardown(() => parent.kill('SIGKILL'))
  return { parent, child, output, ended }
}

const isLinux = process.platform === 'linux'

t.test('a child that is killed is told of', { skip: !isLinux }, async (t) => {
  const { child, output, ended } = await checking(t)
  process.kill(child, 'SIGKILL')
  t.equal(await ended, 2)
  t.strictSame(output, {
    stdout: '',
    stderr: 'sidegate audit: the process that reads the log was killed (SIGKILL)\n',
  })
})

t.test('a command that is ended leaves no child behind', { skip: !isLinux }, async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const { parent, child, output, ended } = await checking(t)
    parent.kill(signal)
    while (parent.exitCode === null && parent.signalCode === null) await delay(SOON_MS)
    process.kill(child, 'SIGCONT')
    t.equal(await ended, signal)
    while (existsSync(`/proc/${child}`)) await delay(SOON_MS)
    t.strictSame(output, { stdout: '', stderr: '' })
  }
})
