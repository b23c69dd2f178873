import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { within } from '../../src/core/deadline.ts'
import { PathWatcher } from '../../src/rules/path-watch.ts'
import { temporaryFolder } from './fixture.ts'

const DEADLINE_MS = 10_000
/** Long enough for an event that must not come. */
const QUIET_MS = 300

/** Follows a path and waits for reports. */
async function following(t: Test, path: string) {
  let reports = 0
  let wake = () => {}
  const watcher = new PathWatcher(path, () => {
    reports++
    wake()
  })
  t.teardown(() => watcher.close())
  await watcher.follow()
  return {
    /** Waits for a report of the change, and follows the path again. */
    async afterReport(change: () => void, what: string): Promise<void> {
      reports = 0
      const reported = new Promise<void>((resolve) => {
        wake = resolve
      })
      change()
      t.ok(await within(reported, DEADLINE_MS), what)
      await watcher.follow()
    },
    async afterQuiet(change: () => void, what: string): Promise<void> {
      reports = 0
      change()
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
      t.equal(reports, 0, what)
    },
  }
}

const relink = (link: string, target: string): void => {
  symlinkSync(target, `${link}-next`)
  renameSync(`${link}-next`, link)
}

t.test('a replaced folder or link at any depth of the path is reported', async (t) => {
  const root = temporaryFolder(t)
  for (const name of ['one', 'two']) mkdirSync(join(root, name, 'sub/rules'), { recursive: true })
  symlinkSync('one', join(root, 'current'))
  symlinkSync(join(root, 'current'), join(root, 'outer'))
  const path = join(root, 'outer/sub/rules')
  const { afterReport, afterQuiet } = await following(t, path)
  await afterReport(() => relink(join(root, 'current'), 'two'), 'a link behind a link')
  await afterReport(() => renameSync(join(root, 'two/sub'), join(root, 'two/old')), 'a renamed folder')
  await afterReport(() => mkdirSync(join(root, 'two/sub')), 'a folder made again')
  await afterReport(() => mkdirSync(path), 'the last folder of the path')
  await afterReport(() => rmSync(join(root, 'outer')), 'a removed link')
  await afterReport(() => symlinkSync('two', join(root, 'outer')), 'a link made again')
  await afterQuiet(() => {
    mkdirSync(join(root, 'one/sub/other'))
    writeFileSync(join(root, 'unrelated'), '')
  }, 'other entries are not reported')
})

t.test('a ConfigMap file is reported when ..data is swapped', async (t) => {
  const root = temporaryFolder(t)
  for (const name of ['..1', '..2']) {
    mkdirSync(join(root, name))
    writeFileSync(join(root, name, 'rules.yaml'), name)
  }
  symlinkSync('..1', join(root, '..data'))
  symlinkSync('..data/rules.yaml', join(root, 'rules.yaml'))
  const { afterReport, afterQuiet } = await following(t, join(root, 'rules.yaml'))
  await afterQuiet(() => writeFileSync(join(root, '..1/rules.yaml'), 'text'), 'content is not reported')
  await afterReport(() => relink(join(root, '..data'), '..2'), 'the swap')
})

t.test('a path of endless links is followed no further than the system does', async (t) => {
  const root = temporaryFolder(t)
  symlinkSync('loop', join(root, 'loop'))
  const { afterReport } = await following(t, join(root, 'loop/rules'))
  await afterReport(() => rmSync(join(root, 'loop')), 'the removed link')
})
