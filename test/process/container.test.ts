// Gateway and commands in containers of their own on one volume: each of them is process 1 where it runs.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN_TOKEN, discard, MAIN, startGateway, UPSTREAM_KEY } from './gateway.ts'
import { startUpstream } from './upstream.ts'

const AS_FIRST = ['--pid', '--fork', '--mount-proc', '--kill-child']

/** Whether a process may be given process ids of its own here. */
function mayUnshare(): boolean {
  try {
    execFileSync('unshare', [...AS_FIRST, 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

t.test('a command beside a gateway that has the same process id', async (t) => {
  if (!mayUnshare()) {
    t.pass('process ids of their own', { skip: 'NOT TESTED: unshare is not allowed here' })
    return
  }
  const upstream = await startUpstream()
  const gateway = await startGateway({ upstreamUrl: upstream.baseUrl, under: ['unshare', ...AS_FIRST] })
  t.teardown(async () => {
    // It passes no other signal on, and its end is the gateway's.
    await gateway.kill('SIGKILL')
    await discard(gateway)
    await upstream.close()
  })
  const { key } = await gateway.createKey('app')
  const file = join(gateway.folder, 'sidegate.yaml')
  const command = async (...args: string[]) => {
    const child = spawn('unshare', [...AS_FIRST, process.execPath, MAIN, ...args, '--config', file], {
      env: { ...process.env, ADMIN_TOKEN, UPSTREAM_KEY },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, output }
  }
  t.match(await command('keys', 'list'), { code: 0, output: /"name": ?"app"/ })
  t.match(await command('keys', 'create', '--name', 'batch'), { code: 0, output: /sgate_live_/ })
  t.match(await command('keys', 'revoke', 'nobody'), { code: 1 })
  t.match(await command('audit', 'export'), { code: 0, output: /"type":"genesis"/ })
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
  t.equal((await gateway.chat(key, body)).status, 200)
})
