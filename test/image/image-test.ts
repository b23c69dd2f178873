// Builds the image without a registry and runs it as users do: `npm run image:test`. Prints a line a
// step; exits 1 on any failure. Where a tool is missing it prints a loud line and exits 0.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { VERSION } from '../../src/core/version.ts'
import { ROOT } from '../process/program.ts'
import { until } from '../process/until.ts'
import { Builder, IMAGE, type ImageConfig, run } from './base-image.ts'
import { ask, type Container, Containers, Network } from './container.ts'

const HELP = `Usage: npm run image:test -- [--base IMAGE] [--mirror URL] [--require]

Builds the image with buildah on a base made by debootstrap, and runs it. Needs root, 5 GB
in TMPDIR, and apt-get install buildah debootstrap iproute2

  --base IMAGE  an image with Node in place of the one made, such as docker.io/library/node:24
  --mirror URL  of Debian's packages
  --require     fail where a tool is missing
  --help        print this text
`
const TOOLS = ['buildah', 'debootstrap', 'ip', 'unshare', 'chroot', 'mount']
/** Neither root nor the user of the image. */
const ANY_USER = '12345:12345'
const ADMIN_TOKEN = 'image-test-0123456789'
const SECRETS = { OPENROUTER_API_KEY: 'upstream', SIDEGATE_ADMIN_TOKEN: ADMIN_TOKEN }
/** The name by which a client of a published port calls. */
const HOST = { host: '127.0.0.1:8484' }
const BYTES_PER_MB = 1e6

const { values } = parseArgs({
  options: {
    base: { type: 'string' },
    mirror: { type: 'string', default: 'http://deb.debian.org/debian' },
    require: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit()
}
const absent = TOOLS.filter((tool) => spawnSync('which', [tool]).status !== 0)
if (process.getuid?.() !== 0) absent.unshift('root')
if (absent.length > 0) {
  console.log(`
*** SKIPPED: THE IMAGE IS NOT TESTED. Missing: ${absent.join(', ')}.
*** As root: apt-get install -y buildah debootstrap iproute2 && npm run image:test
`)
  process.exit(values.require ? 1 : 0)
}

let passed = 0
let failed = 0

/** Runs a step and prints how it ended. @returns its value, null when it failed */
async function step<T>(title: string, body: () => Promise<T>): Promise<T | null> {
  const startedMs = performance.now()
  const print = (word: string, text = title) =>
    console.log(`${word} ${((performance.now() - startedMs) / 1000).toFixed(1).padStart(6)} s  ${text}`)
  try {
    const value = await body()
    passed++
    print('ok    ')
    return value
  } catch (error) {
    failed++
    print('FAILED', `${title}\n${error instanceof Error ? error.stack : error}`)
    return null
  }
}

/** A provider that keeps each call until it is told to answer. */
async function startProvider(host: string) {
  const held: ServerResponse[] = []
  const server = createServer((request, response) => {
    request.resume()
    held.push(response)
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const message = { role: 'assistant', content: 'Hello.' }
  const answer = { object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] }
  return {
    baseUrl: `http://${host}:${(server.address() as AddressInfo).port}/v1`,
    held,
    release() {
      for (const response of held.splice(0)) {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify(answer))
      }
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Waits for a container to say something; fails with its output when it ends before. */
async function heard(container: Container, text: RegExp): Promise<string[]> {
  await until(`the container prints ${text}`, () => text.test(container.output) || !container.isRunning)
  return [...(text.exec(container.output) ?? assert.fail(container.output))]
}

const prompt = (content: string) => ({ model: 'demo/echo', messages: [{ role: 'user', content }] })
const bearer = (key = '') => ({ authorization: `Bearer ${key}`, ...HOST })

async function testDemo(containers: Containers, addresses: readonly string[]): Promise<void> {
  const demo = containers.start({ args: ['demo'], tmpfs: ['/tmp'] })
  try {
    const [, key] = await heard(demo, /API key +(\S+)[\s\S]*grep \^sidegate_\n/)
    for (const address of addresses) {
      const url = `http://${address}:8484`
      const { status, body } = await ask(`${url}/v1/chat/completions`, {
        headers: bearer(key),
        body: prompt('Write to alice@example.com.'),
      })
      assert.equal(status, 200, body)
      assert.match(body, /Write to \[EMAIL_1\]/)
      assert.match((await ask(`${url}/console/`, { headers: HOST })).body, /<title>/)
      assert.match((await ask(`http://${address}:9484/metrics`)).body, /^sidegate_requests_total/m)
    }
    assert.match(demo.output, /console +http:\/\/127\.0\.0\.1:8484\/console\//)
    demo.signal('SIGTERM')
    assert.equal(await demo.ended(), 0, demo.output)
  } finally {
    await demo.kill()
  }
}

/** Serves without arguments as any user, and stops as `docker stop` asks for. */
async function testService(
  containers: Containers,
  network: Network,
  folder: string,
  healthcheck: readonly string[],
): Promise<void> {
  const provider = await startProvider(network.hostAddress)
  const config = join(folder, 'sidegate.yaml')
  const sample = readFileSync(join(ROOT, 'config/sidegate.yaml'), 'utf8')
  writeFileSync(config, sample.replace(/https:\/\/openrouter\.ai\S*/, provider.baseUrl))
  const common = { user: ANY_USER, env: SECRETS, files: { [config]: '/app/config/sidegate.yaml' } }
  const service = containers.start(common)
  try {
    await heard(service, /"msg":"listening"/)
    for (const address of network.containerAddresses) {
      const ready = await ask(`http://${address}:9484/readyz`)
      assert.equal(ready.status, 200, ready.body)
      assert.equal((await ask(`http://${address}:8484/v1/models`, { headers: HOST })).status, 401)
    }
    const healthy = await containers.runToEnd({ ...common, entrypoint: [], args: healthcheck })
    assert.deepEqual(healthy, { code: 0, output: '' }, 'the health check of the image')
    const keys = ['keys', 'create', '--name', 'app', '--config', 'config/sidegate.yaml']
    const created = await containers.runToEnd({ ...common, args: keys })
    const key = /sgate_live_\w+/.exec(created.output)?.[0] ?? assert.fail(created.output)
    const url = `http://${network.containerAddresses[0]}:8484/v1/chat/completions`
    const call = () => ask(url, { headers: bearer(key), body: prompt('Hello') })
    const running = call()
    await until('the call reaches the provider', () => provider.held.length > 0)
    service.signal('SIGTERM')
    await heard(service, /"msg":"draining"/)
    assert.ok(service.isRunning, 'it waits for the call')
    provider.release()
    const { status, body } = await running
    assert.equal(status, 200, body)
    assert.equal(await service.ended(), 0, service.output)
  } finally {
    provider.close()
    await service.kill()
  }
}

/** @param containers of a read-only root */
async function testRefusals(containers: Containers): Promise<void> {
  const { OPENROUTER_API_KEY } = SECRETS
  const refused = await containers.runToEnd({ user: ANY_USER, env: { OPENROUTER_API_KEY } })
  assert.equal(refused.code, 2, refused.output)
  assert.match(refused.output, /SIDEGATE_ADMIN_TOKEN is not set; set it to .*openssl rand -hex 32/)
  const write = ['sh', '-c', 'echo > data/written && rm data/written && echo > written']
  const written = await containers.runToEnd({ user: ANY_USER, entrypoint: [], args: write })
  assert.match(written.output, /cannot create written: Read-only file system/)
  const demo = await containers.runToEnd({ args: ['demo'] })
  assert.equal(demo.code, 1, demo.output)
  assert.match(demo.output, /keeps its data in \/tmp, which cannot be written .*--tmpfs \/tmp/)
}

async function testContents(containers: Containers, root: string): Promise<void> {
  const version = await containers.runToEnd({ user: ANY_USER, args: ['--version'] })
  assert.deepEqual(version, { code: 0, output: `sidegate ${VERSION}\n` })
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const { components } = JSON.parse(readFileSync(join(root, 'app/sbom.cdx.json'), 'utf8'))
  const listed = new Set(components.map(({ name }: { name: string }) => name))
  const shipped = [...Object.keys(dependencies), 'preact', 'uplot']
  assert.deepEqual(
    shipped.filter((name) => !listed.has(name)),
    [],
    'the SBOM lists what ships',
  )
  assert.equal((await run('find', join(root, 'app'), '-name', '*.pem')).trim(), '', 'no certificate is left')
}

async function testImage(builder: Builder, folder: string, network: Network): Promise<void> {
  const base = values.base ?? (await step('makes a base of Debian', () => builder.makeBase(values.mirror)))
  if (base === null) return
  if ((await step('builds the image', () => builder.build(base))) === null) return
  const mounted = await step('mounts the image', async () => {
    const root = await builder.mount(IMAGE)
    const bytes = Number((await run('du', '-sb', join(root, 'app'))).split('\t')[0])
    console.log(`               the base and ${(bytes / BYTES_PER_MB).toFixed(0)} MB`)
    return { root, config: await builder.configOf(IMAGE) }
  })
  if (mounted === null) return
  const { root, config }: { root: string; config: ImageConfig } = mounted
  const containers = new Containers(root, config, network, folder)
  const health = config.Healthcheck.Test.slice(1)
  await step('has the version and lists its packages', () => testContents(containers, root))
  await step('refuses to start without an admin token, and to write', () => testRefusals(containers))
  await step('redacts in the demo, seen from another host', () =>
    testDemo(containers, network.containerAddresses),
  )
  await step(`serves as user ${ANY_USER} with a read-only root, and drains`, () =>
    testService(containers, network, folder, health),
  )
}

const folder = mkdtempSync(join(tmpdir(), 'sidegate-image-'))
const volumes = join(folder, 'volumes')
mkdirSync(volumes)
const network = new Network()
try {
  await network.open()
  await testImage(new Builder(folder), volumes, network)
} finally {
  await network.close()
  await run('rm', '-rf', '--one-file-system', folder)
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
