// How two configuration files differ, and which settings a reload takes.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { readConfig } from '../../src/core/config.ts'
import {
  changedSettings,
  HUB_RELOADABLE,
  isReloadable,
  RELOADABLE,
  settingAt,
  settingsAfter,
} from '../../src/core/config-changes.ts'
import { CONFIG_SCHEMA } from '../../src/core/config-schema.ts'
import { formatPath } from '../../src/core/document.ts'
import { HUB_SCHEMA } from '../../src/core/hub-schema.ts'
import type { SchemaNode } from '../../src/core/schema-parts.ts'
import { selfSigned } from '../server/certificate.ts'

/** The paths of all settings, those of list items left out. */
const settingsOf = ({ properties }: SchemaNode, path: readonly string[] = []): string[][] =>
  Object.entries(properties ?? {}).flatMap(([name, child]) => {
    const at = [...path, name]
    return child.properties === undefined ? [at] : settingsOf(child, at)
  })

/** The sections of the reloadable settings, with the key if only some of a section are. */
function reloadable(rows: typeof RELOADABLE | typeof HUB_RELOADABLE, schema: SchemaNode): string[] {
  const all = settingsOf(schema)
  const taken = all.filter((path) => isReloadable(rows, path))
  const isWhole = (section: string) => rows.some(({ path }) => path.length === 1 && path[0] === section)
  const names = taken.map((path) => (isWhole(path[0]!) ? path[0]! : formatPath(path)))
  return [...new Set(names)].sort()
}

t.test('a reload takes the settings of the table, and every other one needs a restart', async (t) => {
  t.same(reloadable(RELOADABLE, CONFIG_SCHEMA), [
    'admin',
    'keys',
    'log.level',
    'passThrough',
    'policy.refusalStatus',
    'tools.servers',
    'upstream',
    'upstreams',
  ])
  t.same(reloadable(HUB_RELOADABLE, HUB_SCHEMA), ['admin', 'log.level'])
  for (const path of [
    ['listen', 'gateway'],
    ['listen', 'tls', 'certificate'],
    ['rules', 'path'],
    ['data', 'path'],
    ['audit', 'retainDays'],
    ['limits', 'bodyBytes'],
    ['pii', 'kinds'],
    ['fleet'],
    ['metrics', 'keyNames'],
  ])
    t.notOk(isReloadable(RELOADABLE, path), formatPath(path))
  t.ok(isReloadable(RELOADABLE, ['admin', 'oidc', 'roles', 'platform']))
  t.notOk(isReloadable(RELOADABLE, ['upstreamsomething']))
})

t.test('every row of the table is a setting of the schema', async (t) => {
  const cases = [
    [RELOADABLE, CONFIG_SCHEMA],
    [HUB_RELOADABLE, HUB_SCHEMA],
  ] as const
  for (const [rows, schema] of cases)
    for (const { path } of rows) {
      let node: SchemaNode | undefined = schema
      for (const name of path) node = node?.properties?.[name]
      t.ok(node, formatPath(path))
    }
})

t.test('two files differ by settings, and a list is one setting', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'sidegate.yaml')
  const settings = (text: string) => {
    writeFileSync(file, text)
    return readConfig(file, {}, systemClock).settings!
  }
  const base = settings('upstream: {baseUrl: "http://h/v1"}\nkeys: []\n')
  const paths = (text: string) => changedSettings(base, settings(text)).map(formatPath).sort()
  t.same(paths('# A comment.\nkeys: []\nupstream:\n  baseUrl: http://h/v1\n'), [])
  t.same(paths('upstream: {baseUrl: "http://h/v1"}\nlog: {level: info}\n'), [], 'a default')
  t.same(paths('upstream: {baseUrl: "http://other/v1"}\nlisten: {gateway: "127.0.0.1:1"}'), [
    'listen.gateway',
    'upstream.baseUrl',
  ])
  t.same(paths('upstreams: [{name: a, baseUrl: "http://h/v1"}]\n'), ['upstream', 'upstreams'])
  t.same(paths('upstream: {baseUrl: "http://h/v1"}\nadmin: {allowedHosts: [a]}\nprices: {path: p}\n'), [
    'admin.allowedHosts',
    'prices',
  ])
})

t.test('after a reload, what needs a restart still differs', async (t) => {
  const before = {
    listen: { gateway: 'a' },
    log: { level: 'info' },
    policy: { refusalStatus: 400 },
    upstream: { n: 1 },
  }
  const after = { listen: { gateway: 'b' }, log: { level: 'warn' }, policy: {}, upstreams: [1], tools: {} }
  const now = settingsAfter({ ...before, tools: {} }, after, RELOADABLE)
  t.same(now, { listen: { gateway: 'a' }, log: { level: 'warn' }, policy: {}, upstreams: [1], tools: {} })
  t.same(changedSettings(now, after), [['listen', 'gateway']])
  t.equal(settingAt(after, ['upstreams', 0]), 1)
  t.equal(settingAt(after, ['fleet', 'hubs', 0]), undefined)
  t.same(before.log, { level: 'info' }, 'the value before is not changed')
})

t.test('the content of the certificates of an upstream is part of the settings', async (t) => {
  const folder = t.testdir({ 'ca.pem': selfSigned().certificate })
  const file = join(folder, 'sidegate.yaml')
  writeFileSync(file, 'upstreams:\n  - {name: a, baseUrl: "https://h/v1", tls: {ca: ca.pem}}\n')
  const read = () => readConfig(file, {}, systemClock)
  const before = read()
  t.same(before.problems, [])
  t.match(before.included, [{ path: join(folder, 'ca.pem'), digest: /^[0-9a-f]{64}$/ }])
  t.same(changedSettings(before.settings!, read().settings!), [])
  writeFileSync(join(folder, 'ca.pem'), selfSigned().certificate)
  t.same(changedSettings(before.settings!, read().settings!), [['upstreams']])
})

t.test('the documents list every reloadable setting and no other', async (t) => {
  const text = readFileSync(new URL('../../config/README.md', import.meta.url), 'utf8')
  const [, section = ''] = /## Changes of the configuration\n([\s\S]*?)\n## /.exec(text) ?? []
  const listed = [...section.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(.*?)`/g)].map(([, path = '']) => path),
  )
  t.same(listed.sort(), RELOADABLE.map(({ path }) => formatPath(path)).sort())
  for (const { path } of HUB_RELOADABLE) t.match(section, new RegExp(`hub.*\`${formatPath(path)}\``))
})
