// Signals that the system or an operator sends at a wrong moment, and unsafe environments.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { ADMIN_TOKEN, prompt, UPSTREAM_KEY, writeDeployment } from './gateway.ts'
import { openProgram } from './gateway-process.ts'
import { programArgs } from './program.ts'
import { runProgram } from './run-command.ts'
import { fetchInTime, inTime } from './until.ts'
import { completion, heldAnswer, startUpstream } from './upstream.ts'

const DEBUGGER_PORT = 9229

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })

t.test('no signal but those that stop ends a call or opens the debugger', async (t) => {
  const held = heldAnswer(completion('late'))
  const upstream = await startUpstream(held.answer)
  t.teardown(() => upstream.close())
  const gateway = await openProgram(t, { upstreamUrl: upstream.baseUrl })
  const { key } = await gateway.createKey()
  const arrived = upstream.next()
  const answer = gateway.chat(key, prompt('hi'))
  await arrived
  for (const signal of [
    'SIGUSR1',
    'SIGUSR2',
    'SIGPIPE',
    'SIGALRM',
    'SIGVTALRM',
    'SIGXFSZ',
    'SIGHUP',
  ] as const) {
    gateway.child.kill(signal)
    t.equal((await fetchInTime(`${gateway.opsUrl}/livez`)).status, 200, signal)
    t.notOk(await isOpen(DEBUGGER_PORT), signal)
  }
  held.release()
  t.equal((await answer).status, 200)
  t.notMatch(gateway.stderr.join(''), /Debugger/)
  t.equal(await gateway.kill('SIGQUIT'), 0, 'SIGQUIT drains')
})

t.test('SIGUSR1 at any moment of the start leaves the debugger closed', async (t) => {
  const { file } = writeDeployment({ upstreamUrl: 'http://127.0.0.1:9/v1' })
  for (const delayMs of [30, 60, 120, 250]) {
    const child = spawn('env', programArgs(['serve', '--config', file]), {
      env: { ...process.env, ADMIN_TOKEN, UPSTREAM_KEY },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    t.teardown(() => child.kill('SIGKILL'))
    const exited = once(child, 'exit')
    const timer = setTimeout(() => child.kill('SIGUSR1'), delayMs)
    // Before Node's start is over, the signal ends the process or opens nothing that stays.
    await inTime('the first line', Promise.race([once(child.stdout, 'data'), exited]))
    clearTimeout(timer)
    t.notOk(await isOpen(DEBUGGER_PORT), `${delayMs} ms`)
    child.kill('SIGTERM')
    await inTime('the exit', exited)
  }
})

t.test('serve and check refuse an environment that exposes the credential', async (t) => {
  const remote = writeDeployment({ upstreamUrl: 'https://api.example.com/v1' })
  const local = writeDeployment({ upstreamUrl: 'https://127.0.0.1:9/v1' })
  const secrets = { ADMIN_TOKEN, UPSTREAM_KEY }
  for (const command of ['serve', 'check']) {
    const run = (file: string, env: Record<string, string>) =>
      runProgram([command, '--config', file], { ...secrets, ...env })
    const code = command === 'serve' ? 2 : 1
    for (const [env, text] of [
      [{ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, /sidegate\.yaml:1:\d+ .*NODE_TLS_REJECT_UNAUTHORIZED/],
      [{ NODE_DEBUG: 'net' }, /NODE_DEBUG/],
      [{ NODE_OPTIONS: '--inspect=127.0.0.1:0' }, /--inspect in environment variable NODE_OPTIONS/],
    ] as const) {
      const result = await run(remote.file, env)
      t.equal(result.code, code, `${command} ${JSON.stringify(env)}`)
      t.match(result.stdout + result.stderr, text)
    }
  }
  const checked = await runProgram(['check', '--config', local.file], {
    ...secrets,
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
  })
  t.equal(checked.code, 0, checked.stdout)
})
