// An export that is verified from standard input is kept in a file meanwhile: never longer than the command runs.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { MAIN } from './gateway.ts'

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  t.test(`it goes with ${signal}`, async (t) => {
    const folder = t.testdir()
    const child = spawn(process.execPath, [MAIN, 'audit', 'verify', '--export', '-'], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['pipe', 'ignore', 'inherit'],
    })
    const exited = once(child, 'exit')
    child.stdin.write('{"type":"genesis"')
    const spools = () => readdirSync(folder).filter((name) => name.startsWith('sidegate-audit-'))
    while (spools().length === 0 && child.exitCode === null) await nextTurn()
    t.equal(spools().length, 1)
    while (readdirSync(`${folder}/${spools()[0]}`).length === 0 && child.exitCode === null) await nextTurn()
    child.kill(signal)
    t.same(await exited, [null, signal])
    t.same(spools(), [])
  })
}
