// A disk that takes no write of the database's meta page for a while: the gateway heals by itself.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { prompt } from './gateway.ts'
import { deployProgram, type GatewayProcess } from './gateway-process.ts'
import { runProgram } from './run-command.ts'
import { until } from './until.ts'

// The runner's own limit is too short for a busy machine.
t.setTimeout(300_000)

/** Longer than some attempts to write, and shorter than the time after which the process ends. */
const FAULT_MS = 1500
const CALLERS = 4
const FAILING_META = fileURLToPath(new URL('failing-meta.ts', import.meta.url))

interface Acknowledged {
  readonly id: string
  readonly receipt: string
}

/** Calls until `stop`. */
function callAll(gateway: GatewayProcess, key: string) {
  const acknowledged: Acknowledged[] = []
  let isOver = false
  const caller = async () => {
    while (!isOver) {
      // The gateway closes a connection after it has refused a call.
      const response = await gateway.chat(key, prompt('hi')).catch(() => null)
      await response?.text().catch(() => '')
      if (response?.status !== 200) continue
      const [id, receipt] = ['x-request-id', 'x-sidegate-audit'].map((name) => response.headers.get(name))
      acknowledged.push({ id: id ?? '', receipt: receipt ?? '' })
    }
  }
  const callers = Array.from({ length: CALLERS }, caller)
  const stop = async () => {
    isOver = true
    await Promise.all(callers)
  }
  return { acknowledged, stop }
}

/** Returns the acknowledged calls that the log lacks, or has with another hash. */
async function lostOf(gateway: GatewayProcess, acknowledged: readonly Acknowledged[]): Promise<unknown[]> {
  const hashes = new Map<string, string>()
  for (let offset = 0, logs: any[] = []; offset === 0 || logs.length > 0; offset += logs.length) {
    logs = (await gateway.api('GET', `/usage/logs?limit=500&offset=${offset}`)).body.logs
    for (const { id, hash } of logs) hashes.set(id, hash)
  }
  return acknowledged.filter(({ id, receipt }) => !receipt.endsWith(`hash=${hashes.get(id)}`))
}

const becomes = (gateway: GatewayProcess, status: number) =>
  until(`readiness ${status}`, async () => (await gateway.readiness()).status === status, 20_000)

const isLinux = process.platform === 'linux'

t.test(
  'a database whose disk failed is opened anew, and nothing acknowledged is lost',
  { skip: isLinux ? false : 'NOT TESTED: descriptors are found under /proc' },
  async (t) => {
    // Writing to unmapped memory fails with EIO.
    const fault = { FAULT_FILE: '/proc/self/mem', FAULT_MS: String(FAULT_MS) }
    const env = { NODE_OPTIONS: `--import=${FAILING_META}`, ...fault }
    const { gateway, key } = await deployProgram(t, undefined, { env })
    const { acknowledged, stop } = callAll(gateway, key)
    await until('calls are answered', () => acknowledged.length > 50)
    gateway.child.kill('SIGUSR2')
    await becomes(gateway, 503)
    t.equal((await gateway.chat(key, prompt('hi'))).status, 503)
    await becomes(gateway, 200)
    const before = acknowledged.length
    await until('calls are answered again', () => acknowledged.length > before + 50)
    await stop()
    t.same(await lostOf(gateway, acknowledged), [])
    await gateway.createKey('later')
    t.same(gateway.stderr, [])
    const verify = await runProgram(['audit', 'verify', '--config', join(gateway.folder, 'sidegate.yaml')])
    t.equal(verify.code, 0, verify.stdout + verify.stderr)
    t.equal(await gateway.stop(), 0)
  },
)
