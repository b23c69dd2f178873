// Writes to many feeds: order for each feed, and a bound for each turn of the event loop.

import t from 'tap'
import { FeedWrites, type WrittenFeed } from '../../src/hub/feed-writes.ts'

const MIB = 1024 * 1024

class TestFeed implements WrittenFeed {
  readonly written: Buffer[] = []
  isCut = false
  write(bytes: Buffer): void {
    this.written.push(bytes)
  }
  cut(): void {
    this.isCut = true
  }
}

t.test('large events leave in turns, and each feed gets its own in order', async (t) => {
  const turns: (() => void)[] = []
  const writes = new FeedWrites((run) => turns.push(run))
  const feeds = Array.from({ length: 20 }, () => new TestFeed())
  const rules = Buffer.alloc(MIB)
  const beat = Buffer.from('beat')
  for (const feed of feeds) writes.write(feed, rules)
  for (const feed of feeds) writes.write(feed, beat)
  const done = () => feeds.filter(({ written }) => written.length === 2).length
  const begun = () => feeds.filter(({ written }) => written.length > 0).length
  t.equal(begun(), 8, 'a turn takes 8 MiB')
  t.equal(done(), 0, 'nothing overtakes')
  turns.shift()!()
  t.equal(begun(), 16)
  turns.shift()!()
  t.equal(done(), 20)
  t.ok(
    feeds.every(({ written }) => written[0] === rules && written[1] === beat),
    'nothing is copied',
  )
  t.equal(turns.length, 0)
  writes.write(feeds[0]!, beat)
  t.equal(feeds[0]!.written.length, 3, 'small events leave at once')
})

t.test('a feed whose events find no room is cut off', async (t) => {
  const writes = new FeedWrites(() => {})
  const [busy, late] = [new TestFeed(), new TestFeed()]
  writes.write(busy, Buffer.alloc(8 * MIB))
  for (let count = 0; count < 50_000; count++) writes.write(busy, Buffer.alloc(0))
  t.equal(busy.isCut, false)
  writes.write(late, Buffer.alloc(1))
  t.equal(late.isCut, true)
})
