import { readFileSync } from 'node:fs'
import t from 'tap'
import { VERSION } from '../../src/core/version.ts'

t.test('the version is that of package.json', async (t) => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  t.equal(VERSION, version)
})
