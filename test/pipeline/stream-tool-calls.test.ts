// Tool calls in streams.

import t from 'tap'
import { END, event, relay } from './fixture.ts'

t.test('a function name is complete in each chunk, and no later chunk completes a value in it', async (t) => {
  const calls = {
    a: (name: string, more: object) => ({
      tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name, ...more } }],
    }),
    b: (name: string, more: object) => ({ tool_calls: [{ index: 0, custom: { name, ...more } }] }),
    c: (name: string, more: object) => ({ function_call: { name, ...more } }),
  }
  for (const write of Object.values(calls)) {
    const pieces = ['mail_dora@exam', 'ple.com'].map((name) => event({ delta: write(name, {}) }))
    const { sent, logged } = await relay([...pieces, ...END])
    t.notMatch(sent.join('') + logged, /ple\.com/)
    const whole = event({ delta: write('get_weather', { arguments: '' }) })
    const again = await relay([whole, whole, ...END])
    t.same(again.sent.slice(0, 2), [whole, whole], 'unchanged, each time')
  }
})
