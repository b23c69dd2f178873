// The configuration file of a running program: what is reported of it, and what a reload applies.

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { type Config, readConfig } from '../../src/core/config.ts'
import { RELOADABLE, type ReloadableConfig } from '../../src/core/config-changes.ts'
import { CONFIG_SCHEMA } from '../../src/core/config-schema.ts'
import { configView } from '../../src/gateway/config-view.ts'
import { configHealth, LiveConfig } from '../../src/gateway/live-config.ts'
import { until } from '../process/until.ts'
import { ManualTimers } from '../rules/fixture.ts'
import { selfSigned } from '../server/certificate.ts'

const POLL_MS = 30_000
const BASE = 'upstream: {baseUrl: "http://h/v1"}\nlog: {level: info}\n'

/** Follows a file; what a reload puts in force is `taken`. */
async function following(t: Test, files: Readonly<Record<string, string>> = {}, text = BASE, env = {}) {
  const folder = t.testdir(files)
  const file = join(folder, 'sidegate.yaml')
  writeFileSync(file, text)
  const lines: [level: string, message: string, fields: any][] = []
  const log = (level: string) => (fields: object, message: string) =>
    void lines.push([level, message, fields])
  const taken: Pick<Config, keyof ReloadableConfig>[] = []
  const timers = new ManualTimers()
  const replacing = { fails: false }
  const reading = readConfig(file, env, systemClock)
  const live = new LiveConfig<Config, keyof ReloadableConfig>({
    reading,
    source: reading.source,
    reloadable: RELOADABLE,
    replace: (config) => {
      if (replacing.fails) throw new Error('no room')
      taken.push(config)
    },
    logger: { info: log('info'), warn: log('warn'), error: log('error') } as any,
    timers,
  })
  t.teardown(() => live.close())
  await live.start()
  const poll = (isNoticed: () => boolean) =>
    until('the file is noticed', () => {
      timers.advance(POLL_MS)
      return isNoticed()
    })
  return {
    ...{ folder, file, lines, live, taken, replacing, poll },
    /** Writes the file, and waits until the poll has noticed it. */
    write(next: string, isNoticed: () => boolean): Promise<void> {
      writeFileSync(file, next)
      return poll(isNoticed)
    },
  }
}

t.test('a file that is in force is silent', async (t) => {
  const { live, lines, taken } = await following(t)
  t.same(configHealth(live.state), { changed: false, needs_reload: [], needs_restart: [], errors: [] })
  await live.reload()
  t.same(taken, [])
  t.same(lines, [['info', 'the configuration is in force', { reloaded: [] }]])
})

t.test('a changed file is said once, taken by a reload, and what needs a restart stays named', async (t) => {
  const { live, lines, taken, write, poll } = await following(t)
  const changed = `${BASE.replace('info', 'warn')}listen: {gateway: "127.0.0.1:1"}\n`
  await write(changed, () => live.state.changed)
  const all = { changed: true, needs_reload: ['log.level'], needs_restart: ['listen.gateway'], errors: [] }
  t.same(configHealth(live.state), all)
  await write(`${changed}# A comment.\n`, () => lines.length > 1)
  t.match(lines, [
    ['warn', /not in force; send SIGHUP/, { needsReload: ['log.level'], needsRestart: ['listen.gateway'] }],
    ['warn', /not in force/, {}],
  ])
  await live.reload()
  t.match(taken, [{ log: { level: 'warn' } }])
  t.same(configHealth(live.state), { ...all, needs_reload: [] })
  t.match(lines.at(-1), ['warn', /except/, { reloaded: ['log.level'], needsRestart: ['listen.gateway'] }])
  await write(BASE.replace('info', 'warn'), () => !live.state.changed)
  t.match(lines.at(-1), ['info', /in force again/])
  t.equal(lines.length, 4)
  await live.reload()
  t.equal(taken.length, 1, 'a reload without a change replaces nothing')
  await poll(() => true)
  t.equal(lines.length, 5)
})

t.test('a file with errors replaces nothing, and the error names its line', async (t) => {
  const { live, lines, taken, write, file } = await following(t)
  await write(`${BASE}keys: [{name: a}]\n`, () => live.state.changed)
  const errors = [/sidegate\.yaml:3:\d+ keys\[0\]\.sha256: is required/]
  t.match(configHealth(live.state), { changed: true, needs_reload: [], needs_restart: [], errors })
  await live.reload()
  t.match(lines, [
    ['error', /has errors; what was in force stays/, { errors }],
    ['error', /has errors/, { errors }],
  ])
  rmSync(file)
  await live.reload()
  t.match(live.state.errors, [/sidegate\.yaml cannot be read \(ENOENT\)/])
  await write(`${BASE}x: ${'x'.repeat(300_000)}\n`, () => /larger/.test(String(live.state.errors)))
  await write(BASE, () => !live.state.changed)
  t.same(taken, [])
})

t.test('an error outside the file ends without a change of the file', async (t) => {
  const { live, folder, write, poll } = await following(t)
  const wanted = 'upstream: {baseUrl: "http://h/v1", apiKey: {file: key}}\n'
  await write(wanted, () => live.state.changed)
  t.match(live.state.errors, [/upstream\.apiKey: file key cannot be used \(ENOENT\)/])
  writeFileSync(join(folder, 'key'), 'a-credential')
  await poll(() => live.state.errors.length === 0)
  t.match(live.state, { changed: true, needsReload: ['upstream.apiKey'] })
  await live.reload()
  t.equal(live.state.changed, false)
})

t.test('a changed certificate of an upstream is a change', async (t) => {
  const pem = (text: string) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`
  const text = 'upstream: {baseUrl: "https://h/v1", tls: {ca: ca.pem}}\n'
  const { live, folder, taken, poll, lines } = await following(t, { 'ca.pem': pem('one') }, text)
  writeFileSync(join(folder, 'ca.pem'), pem('two'))
  await poll(() => live.state.changed)
  t.match(live.state, { needsReload: ['upstream.tls.ca'] })
  t.notMatch(JSON.stringify(lines), /BEGIN/)
  await live.reload()
  t.match(taken, [{ upstreams: [{ tls: { ca: pem('two').trim() } }] }])
  t.equal(live.state.changed, false)
})

t.test('a configuration that cannot be put in force leaves everything as it was', async (t) => {
  const { live, lines, taken, write, replacing } = await following(t)
  await write(BASE.replace('info', 'warn'), () => live.state.changed)
  replacing.fails = true
  await live.reload()
  t.match(lines.at(-1), ['error', /could not be put in force/, { err: { message: 'no room' } }])
  t.match(live.state, { changed: true, needsReload: ['log.level'] })
  replacing.fails = false
  await live.reload()
  t.equal(live.state.changed, false)
  await live.close()
  await live.reload()
  t.equal(taken.length, 1, 'after the end nothing is taken')
})

t.test('a configuration without a file never changes', async (t) => {
  const live = new LiveConfig<Config, never>({
    reading: { settings: {}, included: [] },
    source: null,
    reloadable: [],
    replace: () => t.fail('replaced'),
    logger: {} as any,
  })
  await live.start()
  await live.reload()
  await live.close()
  t.equal(live.state.changed, false)
})

t.test('the settings in force are shown with their defaults and without secrets', async (t) => {
  const certificate = selfSigned()
  const text = `upstreams:
  - name: first
    baseUrl: "http://h/v1"
    apiKey: {file: key.txt}
    query: {api-version: SECRET-1}
    headers: {x-own: SECRET-2, x-ref: {env: OWN_HEADER}}
    tls: {ca: ca.pem}
keys: [{name: batch, sha256: "${'ab'.repeat(32)}", labels: {team: search}}]
runs: {headers: [x-run]}
audit: {capture: metadata}
log: {level: info}
`
  const files = { 'key.txt': 'SECRET-3-of-an-upstream', 'ca.pem': certificate.certificate }
  const { live } = await following(t, files, text, { OWN_HEADER: 'SECRET-4' })
  const shown = () =>
    configView({ settings: live.settings, state: live.state, schema: CONFIG_SCHEMA, reloadable: RELOADABLE })
  const { settings, file } = shown() as any
  t.notMatch(JSON.stringify(shown()), /SECRET|abab|[0-9a-f]{64}/)
  const of = (path: string) => settings.find((one: any) => one.path === path)
  t.match(of('audit.capture'), {
    ...{ value: 'metadata', is_default: false, needs_restart: true, description: /./ },
  })
  t.match(of('log.level'), { value: 'info', needs_restart: false })
  t.match(of('limits.drainSeconds'), { value: 25, is_default: true, needs_restart: true })
  t.strictSame(of('runs.headers').value, ['x-run'])
  t.match(of('upstreams'), {
    needs_restart: false,
    value: [
      {
        ...{ name: 'first', baseUrl: 'http://h/v1', apiKey: { file: 'key.txt' }, tls: { ca: 'ca.pem' } },
        query: { 'api-version': '(hidden)' },
        headers: { 'x-own': '(hidden)', 'x-ref': { env: 'OWN_HEADER' } },
      },
    ],
  })
  t.match(of('keys').value, [{ name: 'batch', sha256: '(hidden)', labels: { team: 'search' } }])
  t.match(file, { changed: false, errors: [] })
  const withName = { proxy: 'http://user:SECRET@proxy:3128', plain: 'a@b' }
  t.strictSame(
    (
      configView({ ...{ settings: withName, state: live.state, schema: {}, reloadable: [] } }) as any
    ).settings.map(({ value }: any) => value),
    ['http://proxy:3128', 'a@b'],
  )
})
