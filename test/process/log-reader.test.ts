import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { ADMIN_TOKEN, prompt, UPSTREAM_KEY, writeDeployment } from './gateway.ts'
import { programArgs } from './program.ts'
import { eventually, fetchInTime, inTime, until } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

const CALLS = 1000
const PARALLEL = 20
const METRIC = /^sidegate_log_lines_dropped_total (\d+)$/m

interface Unread {
  readonly folder: string
  readonly child: ChildProcess
  readonly lines: Record<string, any>[]
  readonly exited: Promise<number | string | null>
  readonly url: string
  readonly opsUrl: string
}

/** Starts a gateway and reads its first line. Nobody reads on until `child.stdout.resume()`. */
async function unread(t: Test, upstreamUrl: string): Promise<Unread> {
  const { folder, file } = writeDeployment({ upstreamUrl })
  const child = spawn('env', programArgs(['serve', '--config', file]), {
    env: { ...process.env, ADMIN_TOKEN, UPSTREAM_KEY },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: Record<string, any>[] = []
  const exited = new Promise<number | string | null>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal)),
  )
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)))
  const first = await eventually('the gateway listens', () => lines[0], Boolean)
  child.stdout.pause()
  return {
    folder,
    child,
    lines,
    exited,
    url: `http://${first?.['gateway'][0]}`,
    opsUrl: `http://${first?.['ops'][0]}`,
  }
}

async function dropped({ opsUrl }: Unread): Promise<number> {
  const page = await (await fetchInTime(`${opsUrl}/metrics`)).text()
  return Number(METRIC.exec(page)?.[1])
}

/** Makes the gateway log until it drops lines: each SIGHUP writes a line of some kilobytes. */
async function fillBuffer(gateway: Unread): Promise<void> {
  const broken = Array.from({ length: 60 }, (_, index) => `  - { name: ${'n'.repeat(60)}${index}, type: no }`)
  writeFileSync(join(gateway.folder, 'rules', 'rules.yaml'), `rules:\n${broken.join('\n')}\n`)
  await until('lines are dropped', async () => {
    gateway.child.kill('SIGHUP')
    return (await dropped(gateway)) > 0
  })
}

t.test('a log reader that stands still stops no call; lines are dropped, counted and reported', async (t) => {
  const upstream = await startUpstream(json(completion('Hello.')))
  t.teardown(() => upstream.close())
  const gateway = await unread(t, upstream.baseUrl)
  const signIn = await fetchInTime(`${gateway.url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: ADMIN_TOKEN }),
  })
  const cookie = signIn.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  const headers = { cookie, 'content-type': 'application/json' }
  const created = await fetchInTime(`${gateway.url}/api/v1/keys`, {
    method: 'POST',
    headers,
    body: '{"name":"app"}',
  })
  const { key } = (await created.json()) as { key: string }
  let left = CALLS
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const answer = await fetchInTime(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(prompt('hi')),
      })
      if (answer.status !== 200) t.equal(answer.status, 200)
      await answer.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, caller))
  t.equal(upstream.received.length, CALLS)
  await fillBuffer(gateway)
  t.equal((await fetchInTime(`${gateway.opsUrl}/livez`)).status, 200)
  gateway.child.stdout?.resume()
  const reports = () => gateway.lines.filter((line) => typeof line['dropped'] === 'number')
  await until('the loss is reported', () => reports().length > 0)
  gateway.child.kill('SIGTERM')
  t.equal(await inTime('the gateway exits', gateway.exited), 0)
  t.match(reports()[0], { level: 'error', msg: /log lines were dropped/ })
  t.equal(gateway.lines.at(-1)?.['msg'], 'stopped', 'all lines are whole')
})

t.test('a log reader that stands still does not keep the gateway from stopping', async (t) => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const gateway = await unread(t, upstream.baseUrl)
  await fillBuffer(gateway)
  gateway.child.kill('SIGTERM')
  t.equal(await inTime('the gateway exits', gateway.exited, 10_000), 0)
})
