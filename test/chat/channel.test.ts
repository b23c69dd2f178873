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
  const timeOf = (texts: number) => {
    const pieces = Array.from({ length: texts }, (_, index): ChannelText => [`thinking_${index}`, 'x'])
    const start = process.threadCpuUsage()
    flushChunk({}, 0, pieces)
    const { user, system } = process.threadCpuUsage(start)
    return (user + system) / 1000
  }
  // Of CPU time: other processes may run in between. A collection may too; the fastest run counts.
  const fastestOf = (count: number) => Math.min(...Array.from({ length: 10 }, () => timeOf(count)))
  timeOf(256)
  const shortMs = fastestOf(256)
  const longMs = fastestOf(4096)
  t.ok(longMs < 16 * 4 * shortMs, `${longMs} ms for 16 times what took ${shortMs} ms`)
})
