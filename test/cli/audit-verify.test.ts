// The private copy of an export that `sidegate audit verify --export -` reads from standard input.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import t from 'tap'
import { programArgs } from '../process/program.ts'
import { inTime, until } from '../process/until.ts'

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  t.test(`${signal} removes the copy of standard input`, async (t) => {
    const folder = t.testdir()
    const child = spawn('env', programArgs(['audit', 'verify', '--export', '-']), {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['pipe', 'ignore', 'inherit'],
    })
    const exited = once(child, 'exit')
    child.stdin.write('{"type":"genesis"')
    const spools = () => readdirSync(folder).filter((name) => name.startsWith('sidegate-audit-'))
    await until('the copy exists', () => spools().length > 0 || child.exitCode !== null)
    t.equal(spools().length, 1)
    const isBegun = () => readdirSync(`${folder}/${spools()[0]}`).length > 0
    await until('the copy is begun', () => isBegun() || child.exitCode !== null)
    child.kill(signal)
    t.same(await inTime('the command ends', exited), [null, signal])
    t.same(spools(), [])
  })
}
