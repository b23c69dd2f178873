import t from 'tap'
import { LineWriter } from '../../src/gateway/line-writer.ts'
import { ManualTimers } from '../rules/fixture.ts'

const LINE = `${'x'.repeat(1023)}\n`

/** A writer whose reader takes `room` more bytes. */
function writing() {
  const timers = new ManualTimers()
  const seen = { room: 0, text: '', dropped: 0, reports: [] as number[] }
  const writer = new LineWriter({
    onDrop: (lines) => {
      seen.dropped += lines
    },
    onRecover: (dropped) => seen.reports.push(dropped),
    output: (bytes) => {
      if (seen.room === 0) throw Object.assign(new Error('busy'), { code: 'EAGAIN' })
      const taken = Math.min(seen.room, bytes.length)
      seen.room -= taken
      seen.text += bytes.subarray(0, taken).toString('latin1')
      return taken
    },
    timers,
  })
  return { writer, seen, timers }
}

t.test('lines wait in order for a reader that takes any part of a line', (t) => {
  for (const step of [1, 3, 7, 1000]) {
    const { writer, seen, timers } = writing()
    let expected = ''
    for (let line = 0; line < 20; line++) {
      writer.write(`line ${line} \u00fc\n`)
      expected += `line ${line} \u00fc\n`
    }
    for (let turn = 0; turn < 1000 && seen.text.length < Buffer.byteLength(expected); turn++) {
      seen.room = step
      timers.advance(500)
    }
    t.equal(Buffer.from(seen.text, 'latin1').toString(), expected)
    t.equal(seen.dropped, 0)
    t.same(seen.reports, [])
  }
  t.end()
})

t.test('lines beyond 1 MiB are dropped whole, counted, and reported once', (t) => {
  const { writer, seen, timers } = writing()
  for (let line = 0; line < 1024; line++) writer.write(LINE)
  t.equal(seen.dropped, 0)
  writer.write(LINE + LINE)
  writer.write(LINE)
  t.equal(seen.dropped, 3)
  seen.room = 1e9
  timers.advance(500)
  t.equal(seen.text, LINE.repeat(1024))
  t.same(seen.reports, [3])
  writer.write(LINE)
  timers.advance(500)
  t.same(seen.reports, [3])
  t.end()
})

t.test('the end of the process does not wait for a reader that stands still', (t) => {
  const { writer } = writing()
  writer.write(LINE)
  const startMs = performance.now()
  writer.end()
  t.ok(performance.now() - startMs < 5000)
  t.end()
})
