// Gateway and commands in containers of their own on one volume: each is process 1 of its
// container.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN_TOKEN, discard, prompt, UPSTREAM_KEY } from './gateway.ts'
import { startProgram } from './gateway-process.ts'
import { programArgs } from './program.ts'
import { runCommand } from './run-command.ts'
import { startUpstream } from './upstream.ts'

const AS_FIRST = ['--pid', '--fork', '--mount-proc', '--kill-child']

/** Whether this machine allows a PID namespace. */
function mayUnshare(): boolean {
  try {
    execFileSync('unshare', [...AS_FIRST, 'true'], { stdio: 'ignore', timeout: 30_000 })
    return true
  } catch {
    return false
  }
}

t.test('a command works on the log of a gateway that has the same process id', async (t) => {
  if (!mayUnshare()) {
    t.pass('PID namespaces', { skip: 'NOT TESTED: unshare is not allowed here' })
    return
  }
  const upstream = await startUpstream()
  const gateway = await startProgram({ upstreamUrl: upstream.baseUrl, under: ['unshare', ...AS_FIRST] })
  t.teardown(async () => {
    // unshare forwards no other signal, and kills the gateway when it ends.
    await gateway.kill('SIGKILL')
    await discard(gateway)
    await upstream.close()
  })
  const { key } = await gateway.createKey('app')
  const file = join(gateway.folder, 'sidegate.yaml')
  const command = async (...args: string[]) => {
    const line = ['unshare', ...AS_FIRST, 'env', ...programArgs([...args, '--config', file])]
    const { code, stdout, stderr } = await runCommand(line, {
      env: { ...process.env, ADMIN_TOKEN, UPSTREAM_KEY },
    })
    return { code, output: stdout + stderr }
  }
  t.match(await command('keys', 'list'), { code: 0, output: /"name": ?"app"/ })
  t.match(await command('keys', 'create', '--name', 'batch'), { code: 0, output: /sgate_live_/ })
  t.match(await command('keys', 'revoke', 'nobody'), { code: 1 })
  t.match(await command('audit', 'export'), { code: 0, output: /"type":"genesis"/ })
  t.equal((await gateway.chat(key, prompt('hi'))).status, 200)
})
