import { readFileSync } from 'node:fs'
import t from 'tap'
import { VERSION } from '../../src/core/version.ts'

t.test('one version: the code says what package.json says', async (t) => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  t.equal(VERSION, version)
})
