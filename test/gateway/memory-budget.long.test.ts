// Memory of many large prompts and of a large rule file. The heap is small, as in a small Pod: a gateway
// that needs more of it dies.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { discard } from '../process/gateway.ts'
import { deployProgram, startProgram } from '../process/gateway-process.ts'
import { until } from '../process/until.ts'
import { completion, json, startUpstream } from '../process/upstream.ts'

t.setTimeout(300_000)

const SMALL_HEAP = { env: { NODE_OPTIONS: '--max-old-space-size=192' } }
/** Near the least that the program runs with. */
const TINY_HEAP = { env: { NODE_OPTIONS: '--max-old-space-size=96' } }

t.test('large prompts that arrive together are scanned one after the other', async (t) => {
  const upstream = await startUpstream(json(completion('ok')))
  const gateway = await startProgram({
    upstreamUrl: upstream.baseUrl,
    ...SMALL_HEAP,
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
  const answers = await Promise.all(Array.from({ length: 5 }, () => gateway.chat(key, prompt)))
  for (const answer of answers) t.match([answer.status, await answer.json()], [200, completion('ok')])
  t.equal((await gateway.api('GET', '/usage/logs?limit=1')).body.total, 5)
})

/** A body for each way to fill memory with small values, each well below `limits.bodyBytes`. */
const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))
const crowds: Readonly<Record<string, () => object>> = {
  messages: () => ({ messages: many(190_000, () => ({ role: 'user', content: 'x' })) }),
  'messages with an address each': () => ({
    messages: many(100_000, (turn) => ({ role: 'user', content: `a${turn}@example.com` })),
  }),
  parts: () => ({
    messages: [{ role: 'user', content: many(190_000, () => ({ type: 'text', text: 'x' })) }],
  }),
  tools: () => ({
    messages: [{ role: 'user', content: 'x' }],
    tools: many(60_000, (index) => ({
      type: 'function',
      function: { name: `f${index}`, parameters: { type: 'object', properties: { a: { type: 'string' } } } },
    })),
  }),
  'values of an enum': () => ({
    messages: [{ role: 'user', content: 'x' }],
    tools: [
      { type: 'function', function: { name: 'f', parameters: { enum: many(199_000, (i) => `v${i}`) } } },
    ],
  }),
  'long numbers': () => ({
    messages: [{ role: 'user', content: 'x' }],
    data: many(190_000, (index) => 12_345_678 + index),
  }),
  'addresses in one text': () => ({
    messages: [{ role: 'user', content: many(190_000, (index) => `a${index}@b.com`).join(' ') }],
  }),
  keys: () => ({
    messages: [{ role: 'user', content: 'x' }],
    metadata: Object.fromEntries(many(380_000, (index) => [`k${index}`, 1])),
  }),
}

t.test('a body with more values than memory allows is refused, and the process lives', async (t) => {
  const { upstream, gateway, key } = await deployProgram(t, undefined, TINY_HEAP)
  for (const [what, make] of Object.entries(crowds)) {
    const body = { model: 'm', ...make() }
    const answers = await Promise.all(many(2, () => gateway.chat(key, body)))
    for (const answer of answers) {
      t.equal(answer.status, 413, what)
      t.match(await answer.json(), { error: { code: 'body_too_large', type: 'invalid_request_error' } })
    }
    const dryRun = await gateway.api('POST', '/rules/evaluate', body)
    t.match([dryRun.status, dryRun.body.error.code], [413, 'body_too_large'], `${what} in a dry run`)
  }
  t.match(await gateway.newestEntry(), { status: 413, outcome: 'invalid_request' })
  t.equal(upstream.received.length, 0)
  const conversation = {
    model: 'm',
    messages: many(2000, (turn) => ({
      role: turn % 2 === 0 ? 'user' : 'assistant',
      content: `turn ${turn}`,
    })),
    tools: many(200, (index) => ({
      type: 'function',
      function: { name: `f${index}`, parameters: { type: 'object', properties: { a: { type: 'string' } } } },
    })),
  }
  t.equal((await gateway.chat(key, conversation)).status, 200, 'a long conversation passes')
})

t.test('an answer with more values than memory allows is an error of the upstream', async (t) => {
  const choices = many(190_000, (index) => ({ index, message: { role: 'assistant', content: 'x' } }))
  const { upstream, gateway, key } = await deployProgram(t, json({ ...completion(), choices }), TINY_HEAP)
  const ask = () => gateway.chat(key, { model: 'm', messages: [{ role: 'user', content: 'x' }] })
  const refused = await ask()
  t.match([refused.status, ((await refused.json()) as any).error.code], [502, 'upstream_unavailable'])
  upstream.answer = json(completion('ok'))
  t.equal((await ask()).status, 200, 'the next call is served')
})

t.test('a rule file that is too large to read changes nothing', async (t) => {
  const upstream = await startUpstream(json(completion('ok')))
  const gateway = await startProgram({
    upstreamUrl: upstream.baseUrl,
    rules: 'rules:\n  - { name: word, type: keyword_block, pattern: alpha, action: block }\n',
    ...SMALL_HEAP,
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
