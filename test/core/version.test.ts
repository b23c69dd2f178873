import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { VERSION } from '../../src/core/version.ts'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

t.test('the version is that of package.json', async (t) => {
  const lock = JSON.parse(read('package-lock.json'))
  t.equal(VERSION, JSON.parse(read('package.json')).version)
  t.same([lock.version, lock.packages[''].version], [VERSION, VERSION], 'npm install updates the lock')
})

t.test('the charts name the image and the library of this version', async (t) => {
  const named = /(?:\bsidegate:|\?ref=v|newTag: |sidegate-lib, version: )(\d+\.\d+\.\d+)/g
  let count = 0
  for (const path of readdirSync(new URL('../../charts', import.meta.url), {
    recursive: true,
    encoding: 'utf8',
  })) {
    if (!/\.(md|ya?ml)$/.test(path)) continue
    for (const [text, version] of read(`charts/${path}`).matchAll(named)) {
      t.equal(version, VERSION, `charts/${path}: ${text}`)
      count++
    }
  }
  t.ok(count > 5)
})
