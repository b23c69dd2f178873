// Memory of many large prompts and of a large rule file. The heap is small, as in a small Pod: a gateway
// that needs more of it dies.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { discard, startGateway } from '../process/gateway.ts'
import { until } from '../process/until.ts'
import { completion, json, startUpstream } from '../process/upstream.ts'

t.setTimeout(300_000)

const SMALL_HEAP = { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --max-old-space-size=192` }

t.test('large prompts that arrive together are scanned one after the other', async (t) => {
  const upstream = await startUpstream(json(completion('ok')))
  const gateway = await startGateway({
    upstreamUrl: upstream.baseUrl,
    env: SMALL_HEAP,
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

t.test('a rule file that is too large to read changes nothing', async (t) => {
  const upstream = await startUpstream(json(completion('ok')))
  const gateway = await startGateway({
    upstreamUrl: upstream.baseUrl,
    rules: 'rules:\n  - { name: word, type: keyword_block, pattern: alpha, action: block }\n',
    env: SMALL_HEAP,
  })
  t.teardown(async () => {
    await discard(gateway)
    await upstream.close()
  })
  const { key } = await gateway.createKey()
  const ask = async (content: string) =>
    (await gateway.chat(key, { model: 'm', messages: [{ role: 'user', content }] })).status
  writeFileSync(join(gateway.folder, 'rules/wrong.yaml'), `rules: [${'[1],'.repeat(250_000)}`)
  let errors: { file: string; message: string }[] = []
  let answered = 0
  await until('the error is listed', async () => {
    errors = (await gateway.api('GET', '/rules')).body.errors
    if ((await ask('beta')) === 200) answered++
    return errors.length > 0
  })
  t.ok(answered > 0)
  t.match(errors, [{ file: /wrong\.yaml$/, message: /takes more than \d+ MiB of memory to read/ }])
  t.equal(await ask('alpha'), 403, 'the last good rules stay')
})
