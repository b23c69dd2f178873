// Hubs in this process, on a database of their own.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { readHubConfig } from '../../src/core/hub-config.ts'
import { type RunningHub, runHub } from '../../src/hub/hub.ts'
import { newSigningKey } from '../../src/store/files/signingkey.ts'
import type { TestDatabase } from '../ledger/postgres.ts'
import { fetchInTime } from '../process/until.ts'

export const TOKENS = {
  platform: { token: 'the token of the platform team', role: 'admin' },
  reader: { token: 'the token of a reader of keys', role: 'viewer' },
} as const

export interface TestHub extends RunningHub {
  /** Holds its configuration, `hub.yaml`. */
  readonly folder: string
  readonly url: string
  readonly logs: Record<string, unknown>[]
  /** Signs in; returns a function that calls the management API. */
  signIn(name?: keyof typeof TOKENS): Promise<Api>
}

export type Api = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<{ readonly status: number; readonly body: any }>

/** Writes the configuration of a hub, and files beside it. @returns its file and the variables that it names */
export function writeHub(
  t: Test,
  database: TestDatabase,
  more: object = {},
  files: Readonly<Record<string, string>> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'sidegate-hub-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'hub.yaml')
  writeFileSync(join(folder, 'hub.pem'), newSigningKey())
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const tokens = Object.entries(TOKENS).map(([name, { role }]) => ({ name, role, token: { env: name } }))
  writeFileSync(
    file,
    JSON.stringify({
      listen: { hub: '127.0.0.1:0', ops: '127.0.0.1:0' },
      database: { url: { env: 'DATABASE' }, connections: 4 },
      admin: { tokens },
      audit: { signingKey: { file: 'hub.pem' } },
      ...more,
    }),
  )
  const env: Record<string, string> = { DATABASE: database.hub }
  for (const [name, { token }] of Object.entries(TOKENS)) env[name] = token
  return { file, env, folder }
}

/** Starts a hub, which stops with the test. */
export async function startHub(
  t: Test,
  ...[database, more = {}, files = {}]: [TestDatabase, object?, Readonly<Record<string, string>>?]
): Promise<TestHub> {
  const { file, env, folder } = writeHub(t, database, more, files)
  const logs: Record<string, unknown>[] = []
  const output = {
    write: (lines: string) => {
      for (const line of lines.split('\n')) if (line !== '') logs.push(JSON.parse(line))
    },
  }
  const hub = await runHub(readHubConfig(file, env, systemClock), output)
  if ('problems' in hub) throw new Error(hub.problems.map(({ message }) => message).join('\n'))
  let stopped: Promise<void> | null = null
  const stop = () => {
    stopped ??= hub.stop()
    return stopped
  }
  t.teardown(stop)
  const url = `http://${hub.address}`
  return { ...hub, stop, folder, url, logs, signIn: (name = 'platform') => signIn(url, TOKENS[name].token) }
}

export async function signIn(url: string, token: string): Promise<Api> {
  const headers = { 'content-type': 'application/json' }
  const session = await fetchInTime(`${url}/api/v1/session`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ token }),
  })
  const [cookie = ''] = session.headers.getSetCookie().map((one) => one.split(';', 1)[0]!)
  return apiWith(url, cookie)
}

/** Calls the management API with a cookie. */
const apiWith =
  (url: string, cookie: string): Api =>
  async (method, path, body) => {
    const response = await fetchInTime(`${url}/api/v1${path}`, {
      method,
      headers: { cookie, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const isYaml = response.headers.get('content-type')?.includes('yaml') === true
    return { status: response.status, body: isYaml ? await response.text() : await response.json() }
  }
