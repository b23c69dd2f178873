// Contract of the undici files that src/upstream imports past the package's entry.

import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import * as undici from 'undici'

/** Each file and the public export that it must equal. */
const FILES: Readonly<Record<string, unknown>> = {
  'undici/lib/dispatcher/client.js': undici.Client,
  'undici/lib/dispatcher/pool.js': undici.Pool,
  'undici/lib/dispatcher/proxy-agent.js': undici.ProxyAgent,
  'undici/lib/api/api-connect.js': undici.Dispatcher.prototype.connect,
}

const require = createRequire(import.meta.url)
const { version } = require('undici/package.json') as { version: string }
const SOURCE = new URL('../../src/', import.meta.url)

for (const [file, value] of Object.entries(FILES)) {
  t.test(`${file} exports what the entry of undici exports`, async (t) => {
    const remedy = `undici ${version} has changed ${file}; adapt src/upstream/pool.ts and undici-files.d.ts`
    let exported: unknown = null
    try {
      exported = require(file)
    } catch {}
    t.equal(typeof value, 'function', remedy)
    t.equal(exported, value, remedy)
  })
}

t.test('the source imports no other file of undici', async (t) => {
  const imported = globSync('**/*.ts', { cwd: SOURCE, exclude: ['**/*.d.ts'] }).flatMap((file) =>
    Array.from(
      readFileSync(new URL(file, SOURCE), 'utf8').matchAll(/'(undici\/[^']+)'/g),
      ([, name]) => name,
    ),
  )
  t.same(imported.sort(), Object.keys(FILES).sort(), 'add the file to FILES, so that upgrades are checked')
})
