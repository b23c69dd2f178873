// Several requests for one call: the next one is for an upstream that refuses the one before.

import t from 'tap'
import { json } from '../process/upstream.ts'
import { Client, deploy, inTurn, newCall, readAll, requestTo } from './fixture.ts'

t.test('a request that the upstream refuses gives way to the next one', async (t) => {
  for (const status of [400, 422]) {
    const { server, upstream } = await deploy(t, inTurn(json({ no: 1 }, status), json({ ok: 1 })))
    const response = await upstream.forward([requestTo('1'), requestTo('2')], {}, new Client(), newCall())
    t.same([response.status, await readAll(response)], [200, '{"ok":1}'])
    t.same(
      server.received.map(({ body }) => body),
      ['1', '2'],
    )
  }
})

t.test('any other status is the answer, and so is the answer to the last request', async (t) => {
  const { server, upstream } = await deploy(t, json({ no: 1 }, 401))
  const response = await upstream.forward([requestTo('1'), requestTo('2')], {}, new Client(), newCall())
  t.same([response.status, server.received.length], [401, 1])
  const { upstream: stubborn } = await deploy(t, json({ no: 1 }, 400))
  const last = await stubborn.forward([requestTo('1'), requestTo('2')], {}, new Client(), newCall())
  t.equal(last.status, 400)
})

t.test('a model that refuses the first request is remembered once a later one succeeds', async (t) => {
  const answer = inTurn(json({ no: 1 }, 400), json({ ok: 1 }))
  const { server, upstream } = await deploy(t, answer)
  const send = async (model: string) => {
    const before = server.received.length
    const both = [requestTo('1'), requestTo('2')].map((request) => ({ ...request, model }))
    await readAll(await upstream.forward(both, {}, new Client(), newCall()))
    return server.received.slice(before).map(({ body }) => body)
  }
  t.same(await send('m'), ['1', '2'])
  t.same(await send('m'), ['2'], 'the next call begins with its last request')
  t.same(await send('other'), ['1'], 'other models are asked as before')
})

t.test('a model is not remembered when every request is refused', async (t) => {
  const { server, upstream } = await deploy(t, json({ no: 1 }, 400))
  for (let call = 0; call < 2; call++) {
    const both = [requestTo('1'), requestTo('2')]
    await readAll(await upstream.forward(both, {}, new Client(), newCall()))
  }
  t.same(
    server.received.map(({ body }) => body),
    ['1', '2', '1', '2'],
  )
})
