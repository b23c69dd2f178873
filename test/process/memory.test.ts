// What many large prompts take together. The heap is small here, as in a small Pod: a process that needs more of it dies.

import t from 'tap'
import { discard, startGateway } from './gateway.ts'
import { completion, json, startUpstream } from './upstream.ts'

t.setTimeout(300_000)

t.test('large prompts that come together are searched one after the other', async (t) => {
  const upstream = await startUpstream(json(completion('ok')))
  const gateway = await startGateway({
    upstreamUrl: upstream.baseUrl,
    env: { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --max-old-space-size=192` },
  })
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
  })
  const { key } = await gateway.createKey()
  const prompt = {
    model: 'm',
    messages: Array.from({ length: 80_000 }, (_, turn) => ({
      role: turn % 2 === 0 ? 'user' : 'assistant',
      content: `line ${turn} of a long talk`,
    })),
  }
  const answers = await Promise.all(Array.from({ length: 10 }, () => gateway.chat(key, prompt)))
  for (const answer of answers) t.match([answer.status, await answer.json()], [200, completion('ok')])
  t.equal((await gateway.api('GET', '/usage/logs?limit=1')).body.total, 10)
})
