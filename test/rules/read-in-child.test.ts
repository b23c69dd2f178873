import { readFileSync, writeFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { loadRules } from '../../src/rules/load.ts'
import { readInChild } from '../../src/rules/read-in-child.ts'
import { contentHash, snapshotOf } from '../../src/rules/snapshot.ts'
import { until } from '../process/until.ts'
import { rulesText, temporaryFolder } from './fixture.ts'

const NAMES = Array.from({ length: 1000 }, (_, n) => `rule-${n}`)
const LIMITS = { heapMib: 192, durationMs: 60_000 }
/** Not rules: 250,000 lists, for which the parser takes seconds and hundreds of MiB. */
const RUBBISH = { name: 'rubbish.yaml', text: `rules: [${'[1],'.repeat(250_000)}` }
const GOOD = { name: 'good.yaml', text: rulesText('one') }
const FILES = { files: [GOOD, RUBBISH, GOOD], problems: [], reader: 'gateway' } as const

t.test('large files give the same snapshot as small ones', async (t) => {
  const folder = temporaryFolder(t)
  const files = [
    { name: join(folder, 'a.yaml'), text: rulesText(...NAMES) },
    { name: join(folder, 'b.yaml'), text: rulesText('rule-7', 'other').replace('block}', 'explode}') },
    { name: join(folder, 'c.yaml'), text: rulesText('last') },
  ]
  for (const { name, text } of files) writeFileSync(name, text)
  const snapshot = await loadRules(folder)
  t.same(snapshot, snapshotOf(files))
  t.equal(snapshot.rules.length, NAMES.length + 2)
  t.equal(snapshot.problems.length, 2)
})

t.test('a file that takes too much memory is an error with a stable content hash', async (t) => {
  const snapshot = await readInChild(FILES, undefined, { ...LIMITS, heapMib: 64 })
  t.match(snapshot, {
    rules: [],
    problems: [{ file: 'rubbish.yaml', line: 0, message: /^takes more than 64 MiB of memory to read; / }],
    contentHash: contentHash(FILES.files, []),
  })
})

t.test('a file that takes too long is an error', async (t) => {
  const snapshot = await readInChild(FILES, undefined, { heapMib: 2048, durationMs: 1000 })
  t.match(snapshot, { rules: [], problems: [{ message: /^takes more than 1 s to read; / }] })
})

t.test('a reading that takes longer than rules do makes way for calls', async (t) => {
  const ended = new AbortController()
  const reading = readInChild(FILES, ended.signal, { ...LIMITS, heapMib: 2048 })
  const [pid = 0] = childrenOf(process.pid, 'read-child')
  t.equal(getPriority(pid), getPriority(), 'at first it has the priority of the gateway')
  await until('its priority is lowered', () => getPriority(pid) > getPriority())
  ended.abort()
  await reading
})

/** The children of a process whose command line contains a word. */
const childrenOf = (parent: number, word: string): number[] =>
  readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8')
    .split(' ')
    .map(Number)
    .filter((pid) => pid > 0 && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word))

t.test('an aborted reading ends at once', async (t) => {
  const ended = new AbortController()
  const reading = readInChild(FILES, ended.signal, { ...LIMITS, heapMib: 2048 })
  ended.abort()
  t.match(await reading, { rules: [], problems: [{ message: /^could not be read / }] })
})
