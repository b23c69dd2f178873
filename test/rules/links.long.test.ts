// Rule files that are links, checkouts that git is writing, and systems that let nothing be watched.

import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { loadRules, openRules } from '../../src/rules/load.ts'
import { surveyRules } from '../../src/rules/path-survey.ts'
import { FileWatcher } from '../../src/rules/watch.ts'
import { until } from '../process/until.ts'
import { rulesText, temporaryFolder } from './fixture.ts'

/** Limit for a change: 1 s by contract, more on a busy machine, and less than the poll of 30 s. */
const SOON_MS = 20_000

async function watching(t: Test, path: string) {
  const seen: string[] = []
  const failures: (string | null)[] = []
  const watcher = new FileWatcher({
    path,
    open: openRules,
    initial: await loadRules(path),
    onSnapshot: ({ rules, problems }) =>
      seen.push(problems.length > 0 ? 'bad' : rules.map(({ rule }) => rule.name).join()),
    onWatching: (failure) => failures.push(failure),
  })
  t.teardown(() => watcher.close())
  await watcher.start()
  return {
    seen,
    failures,
    becomes: (names: string) => until(names, () => seen.at(-1) === names, SOON_MS),
  }
}

const relink = (link: string, target: string): void => {
  symlinkSync(target, `${link}-next`)
  renameSync(`${link}-next`, link)
}

function put(folder: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
}

t.test(
  'a file that resolves to another one takes effect, wherever on the way a link is swapped',
  async (t) => {
    const root = temporaryFolder(t)
    for (const name of ['one', 'two', 'three']) put(join(root, name), { 'a.yaml': rulesText(name) })
    symlinkSync('one', join(root, 'current'))
    symlinkSync('current', join(root, 'outer'))
    mkdirSync(join(root, 'rules'))
    symlinkSync('../outer/a.yaml', join(root, 'rules/a.yaml'))
    const { becomes, failures } = await watching(t, join(root, 'rules'))
    relink(join(root, 'current'), 'two')
    await becomes('two')
    relink(join(root, 'outer'), 'three')
    await becomes('three')
    writeFileSync(join(root, 'three/a.yaml'), rulesText('written'))
    await becomes('written')
    renameSync(join(root, 'three'), join(root, 'gone'))
    await becomes('bad')
    put(join(root, 'three'), { 'a.yaml': rulesText('again') })
    await becomes('again')
    relink(join(root, 'rules/a.yaml'), '../two/a.yaml')
    await becomes('two')
    t.same(failures, [])
  },
)

t.test('files that lead through one swapped link are never of two moments', async (t) => {
  const root = temporaryFolder(t)
  const make = (moment: number) =>
    put(join(root, `m${moment}`), { 'a.yaml': rulesText(`a${moment}`), 'b.yaml': rulesText(`b${moment}`) })
  make(0)
  symlinkSync('m0', join(root, 'current'))
  mkdirSync(join(root, 'rules'))
  for (const name of ['a.yaml', 'b.yaml']) symlinkSync(`../current/${name}`, join(root, 'rules', name))
  const { becomes, seen } = await watching(t, join(root, 'rules'))
  for (let moment = 1; moment <= 200; moment++) {
    make(moment)
    relink(join(root, 'current'), `m${moment}`)
    if (moment % 5 === 0) await delay(1)
  }
  await becomes('a200,b200')
  for (const names of seen) t.match(names, /^a(\d+),b\1$/)
})

/** Where git keeps the lock, by layout. Each makes the repository and returns the lock's path. */
const LAYOUTS: Readonly<Record<string, (root: string) => string>> = {
  'next to the files': (root) => {
    mkdirSync(join(root, 'rules/.git'))
    return join(root, 'rules/.git/index.lock')
  },
  'above the files': (root) => {
    mkdirSync(join(root, '.git'))
    return join(root, '.git/index.lock')
  },
  'in a worktree': (root) => {
    mkdirSync(join(root, 'main/.git/worktrees/w'), { recursive: true })
    writeFileSync(join(root, '.git'), 'gitdir: main/.git/worktrees/w\n')
    return join(root, 'main/.git/worktrees/w/index.lock')
  },
}

for (const [layout, make] of Object.entries(LAYOUTS)) {
  t.test(`half of a checkout is never a revision: lock ${layout}`, async (t) => {
    const root = temporaryFolder(t)
    put(join(root, 'rules'), { 'a.yaml': rulesText('a1'), 'b.yaml': rulesText('b1') })
    const lock = make(root)
    const { becomes, seen } = await watching(t, join(root, 'rules'))
    writeFileSync(lock, '')
    writeFileSync(join(root, 'rules/a.yaml'), rulesText('a2'))
    await delay(1500)
    t.same(seen, [], 'nothing is read while git writes')
    writeFileSync(join(root, 'rules/b.yaml'), rulesText('b2'))
    renameSync(lock, lock.replace('.lock', ''))
    await becomes('a2,b2')
    t.same(seen, ['a2,b2'])
  })
}

t.test('a lock that git left behind delays a change by five seconds, a start too', async (t) => {
  const root = temporaryFolder(t)
  put(join(root, 'rules'), { 'a.yaml': rulesText('one') })
  mkdirSync(join(root, '.git'))
  const { becomes, seen } = await watching(t, join(root, 'rules'))
  writeFileSync(join(root, '.git/index.lock'), '')
  writeFileSync(join(root, 'rules/a.yaml'), rulesText('two'))
  const startMs = performance.now()
  await until('the change', () => seen.length > 0, 15_000)
  t.ok(performance.now() - startMs > 4500)
  await becomes('two')
  const loadMs = performance.now()
  const loading = loadRules(join(root, 'rules'))
  await delay(1000)
  rmSync(join(root, '.git/index.lock'))
  t.equal((await loading).rules[0]?.rule.name, 'two')
  t.ok(performance.now() - loadMs < 4500)
})

t.test('a survey differs with every change of a file, a link on its way, or the list', async (t) => {
  const root = temporaryFolder(t)
  for (const name of ['one', 'two']) put(join(root, name), { 'a.yaml': rulesText('same') })
  symlinkSync('one', join(root, 'current'))
  mkdirSync(join(root, 'rules'))
  symlinkSync('../current/a.yaml', join(root, 'rules/a.yaml'))
  const signature = async () => (await surveyRules(join(root, 'rules'))).signature
  let last = await signature()
  t.equal(await signature(), last)
  const changes: Record<string, () => void> = {
    'a swapped link': () => relink(join(root, 'current'), 'two'),
    'a written target': () => writeFileSync(join(root, 'two/a.yaml'), rulesText('same')),
    'a new file': () => writeFileSync(join(root, 'rules/b.yaml'), ''),
    'a removed file': () => rmSync(join(root, 'rules/b.yaml')),
    'a broken link': () => rmSync(join(root, 'two'), { recursive: true }),
    'a removed folder': () => rmSync(join(root, 'rules'), { recursive: true }),
  }
  for (const [name, change] of Object.entries(changes)) {
    change()
    const next = await signature()
    t.not(next, last, name)
    last = next
  }
})
