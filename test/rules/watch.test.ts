import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { loadRules, openRules, type RuleSource } from '../../src/rules/load.ts'
import type { RuleSnapshot } from '../../src/rules/snapshot.ts'
import { FileWatcher } from '../../src/rules/watch.ts'
import { ManualTimers, publish, rulesText, snapshot, temporaryFolder } from './fixture.ts'

/** Longest wait for a report, milliseconds; the poll comes within it. */
const DEADLINE_MS = 40_000

/** A watcher of a real folder, and its reports. */
async function watching(t: Test, path: string) {
  const seen: string[] = []
  let wake = () => {}
  const watcher = new FileWatcher({
    path,
    open: openRules,
    initial: await loadRules(path),
    onSnapshot: ({ rules, problems }) => {
      seen.push(problems.length > 0 ? 'bad' : rules.map(({ rule }) => rule.name).join())
      wake()
    },
  })
  t.teardown(() => watcher.close())
  await watcher.start()
  return {
    watcher,
    seen,
    /** Resolves when the last report has these names. @throws Error after DEADLINE_MS */
    async until(names: string): Promise<void> {
      const late = AbortSignal.timeout(DEADLINE_MS)
      while (seen.at(-1) !== names) {
        await new Promise<void>((resolve, reject) => {
          wake = resolve
          late.onabort = () => reject(new Error(`no report of ${names}; reported: ${seen.join(' ')}`))
        })
      }
    },
  }
}

t.test('a file that is written, renamed, added or removed is reported', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'a.yaml'), rulesText('one'))
  const { until, seen } = await watching(t, folder)
  t.same(seen, [], 'the initial snapshot is not reported')
  writeFileSync(join(folder, 'a.yaml'), rulesText('two'))
  await until('two')
  writeFileSync(join(folder, '.a.yaml.swp'), rulesText('three'))
  renameSync(join(folder, '.a.yaml.swp'), join(folder, 'a.yaml'))
  await until('three')
  writeFileSync(join(folder, 'b.yaml'), rulesText('four'))
  await until('three,four')
  rmSync(join(folder, 'a.yaml'))
  await until('four')
})

t.test('a file with errors and the corrected file are both reported', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'a.yaml'), rulesText('one'))
  const { until, seen } = await watching(t, folder)
  writeFileSync(join(folder, 'a.yaml'), 'rules: [')
  await until('bad')
  writeFileSync(join(folder, 'a.yaml'), rulesText('two'))
  await until('two')
  t.same(seen, ['bad', 'two'])
})

t.test('every swap of a ConfigMap is reported', async (t) => {
  const folder = temporaryFolder(t)
  publish(folder, '0', { 'a.yaml': rulesText('n0') })
  const { until } = await watching(t, folder)
  for (let moment = 1; moment <= 5; moment++) {
    publish(folder, String(moment), { 'a.yaml': rulesText(`n${moment}`) })
    rmSync(join(folder, `..${moment - 1}`), { recursive: true })
    await until(`n${moment}`)
  }
})

t.test('a folder that is deleted and recreated is watched again', async (t) => {
  const folder = join(temporaryFolder(t), 'rules')
  mkdirSync(folder)
  writeFileSync(join(folder, 'a.yaml'), rulesText('one'))
  const { until } = await watching(t, folder)
  for (const names of ['two', 'three']) {
    rmSync(folder, { recursive: true })
    await until('bad')
    mkdirSync(folder)
    writeFileSync(join(folder, 'a.yaml'), rulesText(names))
    await until(names)
  }
  writeFileSync(join(folder, 'a.yaml'), rulesText('four'))
  await until('four')
})

t.test('a folder replaced by a rename is watched', async (t) => {
  const parent = temporaryFolder(t)
  const folder = join(parent, 'rules')
  mkdirSync(folder)
  writeFileSync(join(folder, 'a.yaml'), rulesText('one'))
  const { until } = await watching(t, folder)
  mkdirSync(join(parent, 'next'))
  writeFileSync(join(parent, 'next', 'a.yaml'), rulesText('two'))
  renameSync(folder, join(parent, 'old'))
  renameSync(join(parent, 'next'), folder)
  await until('two')
  writeFileSync(join(folder, 'a.yaml'), rulesText('three'))
  await until('three')
})

/** How programs replace the content of a file. A reading may come between any two steps. */
const SAVES: Record<string, (file: string, text: string) => void> = {
  'vim, backup by rename': (file, text) => {
    writeFileSync(join(dirname(file), '4913'), '')
    rmSync(join(dirname(file), '4913'))
    renameSync(file, `${file}~`)
    writeFileSync(file, text)
    rmSync(`${file}~`)
  },
  'emacs, with its lock link': (file, text) => {
    const lock = join(dirname(file), `.#${basename(file)}`)
    symlinkSync('somebody@somewhere.1:1', lock)
    renameSync(file, `${file}~`)
    writeFileSync(file, text)
    rmSync(lock)
  },
  'an IDE that writes safely': (file, text) => {
    writeFileSync(`${file}___jb_tmp___`, text)
    renameSync(file, `${file}___jb_old___`)
    renameSync(`${file}___jb_tmp___`, file)
    rmSync(`${file}___jb_old___`)
  },
  'an editor that truncates, then writes': (file, text) => {
    truncateSync(file)
    writeFileSync(file, text)
  },
  'a checkout, which unlinks and writes anew': (file, text) => {
    rmSync(file)
    writeFileSync(file, text, { flag: 'wx' })
  },
}

t.test('a file saved by any common program is reported', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'a.yaml')
  writeFileSync(file, rulesText('start'))
  const { until } = await watching(t, folder)
  for (const [index, [program, save]] of Object.entries(SAVES).entries()) {
    save(file, rulesText(`n${index}`))
    await until(`n${index}`)
    t.pass(program)
  }
})

t.test('a thousand quick swaps never give mixed files, and the last state is reported', async (t) => {
  const folder = temporaryFolder(t)
  const files = (moment: number) => ({
    'a.yaml': rulesText(`a${moment}`),
    'b.yaml': rulesText(`b${moment}`),
  })
  publish(folder, '0', files(0))
  const { until, seen } = await watching(t, folder)
  for (let moment = 1; moment <= 1000; moment++) {
    publish(folder, String(moment), files(moment))
    rmSync(join(folder, `..${moment - 1}`), { recursive: true })
    if (moment % 10 === 0) await setImmediate()
  }
  await until('a1000,b1000')
  for (const names of seen.filter((each) => each !== 'bad')) t.match(names, /^a(\d+),b\1$/)
})

t.test('a single file is watched', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'rules.yaml')
  writeFileSync(file, rulesText('one'))
  const { until } = await watching(t, file)
  writeFileSync(file, rulesText('two'))
  await until('two')
  writeFileSync(`${file}~`, rulesText('three'))
  renameSync(`${file}~`, file)
  await until('three')
})

t.test('a link that changes to another folder is followed', async (t) => {
  const parent = temporaryFolder(t)
  for (const names of ['one', 'two']) {
    mkdirSync(join(parent, names))
    writeFileSync(join(parent, names, 'a.yaml'), rulesText(names))
  }
  symlinkSync('one', join(parent, 'rules'))
  const { until, watcher } = await watching(t, join(parent, 'rules'))
  writeFileSync(join(parent, 'one', 'a.yaml'), rulesText('more'))
  await until('more')
  symlinkSync('two', join(parent, 'link'))
  renameSync(join(parent, 'link'), join(parent, 'rules'))
  await Promise.all([watcher.reload(), until('two')])
})

t.test('a checkout swapped further up, as by git-sync, is followed and watched', async (t) => {
  const root = temporaryFolder(t)
  const checkout = (name: string) => {
    mkdirSync(join(root, name, 'rules'), { recursive: true })
    writeFileSync(join(root, name, 'rules/a.yaml'), rulesText(name))
  }
  checkout('one')
  symlinkSync('one', join(root, 'current'))
  const { until } = await watching(t, join(root, 'current/rules'))
  for (const name of ['two', 'three']) {
    checkout(name)
    symlinkSync(name, join(root, 'next'))
    renameSync(join(root, 'next'), join(root, 'current'))
    const swapped = performance.now()
    await until(name)
    writeFileSync(join(root, name, 'rules/a.yaml'), rulesText(`${name}-more`))
    await until(`${name}-more`)
    t.ok(performance.now() - swapped < 20_000, 'reported before the poll')
  }
})

t.test('a parent folder that is deleted and recreated is watched again', async (t) => {
  const root = join(temporaryFolder(t), 'around')
  const make = (names: string) => {
    mkdirSync(join(root, 'rules'), { recursive: true })
    writeFileSync(join(root, 'rules/a.yaml'), rulesText(names))
  }
  make('one')
  const { until } = await watching(t, join(root, 'rules'))
  const begun = performance.now()
  rmSync(root, { recursive: true })
  await until('bad')
  make('two')
  await until('two')
  writeFileSync(join(root, 'rules/a.yaml'), rulesText('three'))
  await until('three')
  t.ok(performance.now() - begun < 20_000, 'reported before the poll')
})

/** A folder with one file, as it is read. */
function sourceOf(text: string, onRead = () => {}): RuleSource {
  const content = snapshot(text)
  const read = async () => {
    onRead()
    return content
  }
  return { contentHash: content.contentHash, read }
}

/** A watcher whose files and time the test controls. */
function controlled(t: Test, contents: readonly string[]) {
  const timers = new ManualTimers()
  const seen: RuleSnapshot[] = []
  const errors: unknown[] = []
  let loads = 0
  let reads = 0
  let failure: Error | null = null
  const watcher = new FileWatcher({
    path: 'rules',
    initial: snapshot(contents[0] ?? ''),
    open: async () => sourceOf(contents[Math.min(++loads, contents.length - 1)] ?? '', () => reads++),
    onSnapshot: (loaded) => {
      if (failure !== null) throw failure
      seen.push(loaded)
    },
    onError: (error) => errors.push(error),
    timers,
  })
  t.teardown(() => watcher.close())
  return {
    watcher,
    timers,
    seen,
    errors,
    loads: () => loads,
    reads: () => reads,
    fail: (error: Error | null) => {
      failure = error
    },
  }
}

t.test('a burst of hints gives one reading, 100 ms after the last', async (t) => {
  const { watcher, timers, loads } = controlled(t, ['a', 'b'])
  for (let hint = 0; hint < 9; hint++) {
    watcher.hint()
    timers.advance(99)
  }
  await watcher.reload()
  t.equal(loads(), 1, 'only the reload')
  timers.advance(1)
  await watcher.reload()
  t.equal(loads(), 3, 'the burst and another reload')
  t.equal(timers.waiting, 0)
})

t.test('closing drops a reading that has not begun', async (t) => {
  const { watcher, timers, loads } = controlled(t, ['a', 'b'])
  watcher.hint()
  timers.advance(100)
  await watcher.close()
  watcher.hint()
  t.equal(loads(), 0)
  t.equal(timers.waiting, 0)
})

t.test('a reading that never ends delays closing by a second at most', async (t) => {
  const timers = new ManualTimers()
  const watcher = new FileWatcher({
    path: 'rules',
    initial: snapshot('a'),
    open: () => new Promise<RuleSource>(() => {}),
    onSnapshot: () => {},
    timers,
  })
  watcher.hint()
  timers.advance(100)
  await setImmediate()
  let closed = false
  const closing = watcher.close().then(() => {
    closed = true
  })
  timers.advance(999)
  await setImmediate()
  t.notOk(closed, 'still waiting')
  timers.advance(1)
  await closing
  t.equal(timers.waiting, 0)
})

t.test('a burst without end gives a reading after a second', async (t) => {
  const { watcher, timers, loads } = controlled(t, ['a', 'b'])
  for (let hint = 0; hint < 25; hint++) {
    watcher.hint()
    timers.advance(50)
  }
  await watcher.reload()
  t.equal(loads(), 2, 'one at the deadline, one by the reload')
})

t.test('only changed content is reported, except on reload', async (t) => {
  const { watcher, timers, seen, reads } = controlled(t, [rulesText('x'), rulesText('x'), rulesText('y')])
  watcher.hint()
  timers.advance(100)
  watcher.hint()
  timers.advance(100)
  await watcher.reload()
  t.same(
    seen.map(({ rules }) => rules[0]?.rule.name),
    ['y', 'y'],
  )
  t.equal(reads(), 2, 'unchanged content is not parsed')
})

t.test('watching continues when the listener throws', async (t) => {
  const { watcher, seen, errors, fail } = controlled(t, ['a', 'b'])
  fail(new Error('listener'))
  await watcher.reload()
  fail(null)
  await watcher.reload()
  t.match(errors, [{ message: 'listener' }])
  t.equal(seen.length, 1)
})

t.test('a snapshot that the listener could not take is reported by the next reading', async (t) => {
  const { watcher, timers, seen, errors, fail } = controlled(t, ['a', rulesText('x')])
  fail(new Error('listener'))
  watcher.hint()
  timers.advance(100)
  for (let turn = 0; errors.length === 0 && turn < 1000; turn++) await setImmediate()
  fail(null)
  watcher.hint()
  timers.advance(100)
  watcher.hint()
  timers.advance(100)
  await watcher.reload()
  t.equal(seen.length, 2, 'the second one by the reload')
})

t.test('the poll finds a change without a hint', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'a.yaml'), rulesText('one'))
  const timers = new ManualTimers()
  const contents = [rulesText('one')]
  const seen: string[] = []
  const watcher = new FileWatcher({
    path: folder,
    initial: snapshot(rulesText('one')),
    open: async () => sourceOf(contents[0] ?? ''),
    onSnapshot: ({ rules }) => seen.push(String(rules[0]?.rule.name)),
    timers,
  })
  t.teardown(() => watcher.close())
  await watcher.start()
  contents[0] = rulesText('two')
  timers.advance(29_999)
  t.same(seen, [])
  timers.advance(1)
  await watcher.reload()
  t.same(seen, ['two', 'two'])
  contents[0] = rulesText('three')
  timers.advance(30_000)
  await watcher.reload()
  t.same(seen.slice(2), ['three', 'three'])
})

t.test('a change between the first reading and the start is reported', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'a.yaml'), rulesText('one'))
  const seen: string[] = []
  const watcher = new FileWatcher({
    path: folder,
    open: openRules,
    initial: await loadRules(folder),
    onSnapshot: ({ rules }) => seen.push(String(rules[0]?.rule.name)),
  })
  t.teardown(() => watcher.close())
  writeFileSync(join(folder, 'a.yaml'), rulesText('two'))
  await watcher.start()
  t.same(seen, ['two'])
})
