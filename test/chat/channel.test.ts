import t from 'tap'
import { type ChannelText, flushChunk } from '../../src/chat/channel.ts'

t.test('texts flushed in one chunk keep their places', async (t) => {
  const pieces: ChannelText[] = [
    ['reasoning', 'a'],
    ['reasoning_details[0].text', 'b'],
    ['reasoning_details[2].text', 'c'],
    ['thought.first.text', 'd'],
    ['thought.second', 'e'],
    ['__proto__', 'f'],
  ]
  const { choices } = flushChunk({ id: 'x', service_tier: 'y' }, 1, pieces) as {
    choices: { delta: object }[]
  }
  t.equal(
    JSON.stringify(choices),
    '[{"index":1,"delta":{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","index":0,"text":"b"},' +
      '{"type":"reasoning.text","index":2,"text":"c"}],"thought":{"first":{"text":"d"},"second":"e"},"__proto__":"f"},' +
      '"finish_reason":null}]',
  )
})

t.test('flushing many texts takes linear time', async (t) => {
  const TEXTS = 131_072
  /** CPU time of flushing TEXTS texts, so many at once. Time that other processes take is left out. */
  const timeOf = (atOnce: number) => {
    const pieces = Array.from({ length: atOnce }, (_, index): ChannelText => [`thinking_${index}`, 'x'])
    const start = process.threadCpuUsage()
    for (let texts = 0; texts < TEXTS; texts += atOnce) flushChunk({}, 0, pieces)
    const { user, system } = process.threadCpuUsage(start)
    return (user + system) / 1000
  }
  timeOf(256)
  const [shortMs, longMs] = [timeOf(256), timeOf(4096)]
  t.ok(longMs < 4 * shortMs, `${longMs} ms in pieces 16 times as long, and ${shortMs} ms`)
})
