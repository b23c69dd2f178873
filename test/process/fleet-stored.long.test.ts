// Stored responses over a fleet, with OpenAI's official client: three sidecars, a hub and
// PostgreSQL, and a provider that keeps responses.

import type OpenAI from 'openai'
import t from 'tap'
import { startHub } from '../hub/fixture.ts'
import { fleetDatabase, run } from '../ledger/postgres.ts'
import { openAi } from './client.ts'
import type { TestGateway } from './gateway.ts'
import { openPod, POD_HUB } from './hub-pod.ts'
import { outputText, responseOf } from './responses-upstream.ts'
import { until } from './until.ts'
import { type Answer, json, startUpstream } from './upstream.ts'

t.setTimeout(120_000)

const model = 'test/model'
const database = await fleetDatabase()
const hub = await startHub(t, database, POD_HUB.config, POD_HUB.files)
const upstream = await startUpstream()
t.teardown(() => upstream.close())
const pods = await Promise.all(
  ['web-0', 'web-1', 'web-2'].map((pod) => openPod(t, hub.url, upstream.baseUrl, { pod })),
)
const [one, two, three] = pods as [TestGateway, TestGateway, TestGateway]
const api = await hub.signIn()
const newKey = async (fields: object): Promise<string> =>
  (await api('POST', '/keys', { name: 'app', ...fields })).body.key
const [key, otherKey] = [await newKey({ name: 'app' }), await newKey({ name: 'other' })]

const MISSING = { status: 404, message: /not found/ }
const NOT_CONTINUED = { status: 400, code: 'previous_response_not_found' }

let made = 0
/** Makes a response at a sidecar. */
async function create(at: TestGateway, body: object = {}, answered: object = {}, by = key) {
  const id = `resp_67ccd2bed1ec82${String(++made).padStart(2, '0')}`
  const item = { ...outputText('Hello.'), id: `msg_${id}` }
  upstream.answer = json({ ...responseOf(item), id, ...answered })
  return openAi(at, by).responses.create({
    ...{ model, input: 'hi' },
    ...body,
  } as OpenAI.Responses.ResponseCreateParamsNonStreaming)
}

const stored = (id: string, ...more: object[]): Answer =>
  json(Object.assign({ ...responseOf(outputText('Hello.')), id }, ...more))
const sent = () => JSON.parse(upstream.received.at(-1)?.body ?? '{}')
const tokens = async () =>
  Number(
    (
      await run(database.owner, 'select sum(prompt_tokens + completion_tokens) as sum from sidegate.entry')
    )[0]!['sum'],
  )

/** Waits until the hub has what the sidecars have sealed. */
async function arrived() {
  for (const pod of pods)
    await until('the hub has all', async () =>
      /^sidegate_fleet_unshipped_entries 0$/m.test(await pod.metrics()),
    )
}

/** Waits until a call succeeds: a busy machine may answer too late for it. */
async function soon<Result>(what: string, work: () => PromiseLike<Result>): Promise<Result> {
  let result: Result | undefined
  await until(what, async () => {
    result = await Promise.resolve(work()).catch(() => undefined)
    return result !== undefined
  })
  return result!
}

t.test('a response made at one sidecar is continued, read and removed at the others', async (t) => {
  const { id } = await create(one, { input: 'I am ann@example.com.' })
  await arrived()
  const next = await soon('it is continued', () =>
    create(two, { input: 'And bob@example.org?', previous_response_id: id }),
  )
  t.match(sent(), { previous_response_id: id, input: 'And [EMAIL_2]?' }, 'with the numbers of the first')
  await arrived()
  upstream.answer = stored(next.id)
  t.match(await soon('it is read', () => openAi(three, key).responses.retrieve(next.id)), { id: next.id })
  upstream.answer = json({ object: 'list', data: [], first_id: null, last_id: null, has_more: false })
  await soon('its items are listed', () => openAi(three, key).responses.inputItems.list(id))
  t.match(upstream.received.at(-1), { url: `/v1/responses/${id}/input_items` })
  const item = { type: 'item_reference', id: `msg_${id}` }
  await soon('an item is named', () => create(three, { input: [item, { role: 'user', content: 'go' }] }))
  t.match(sent().input[0], item)
  upstream.answer = json({ id, object: 'response', deleted: true })
  await soon('it is removed', () =>
    openAi(three, key)
      .responses.delete(id)
      .then(() => true),
  )
  await t.rejects(openAi(three, key).responses.retrieve(id), MISSING, 'at once where it was removed')
  await arrived()
  for (const at of [one, two])
    await until('the others know it', async () => {
      upstream.answer = stored(id)
      const before = upstream.received.length
      const error = await openAi(at, key)
        .responses.retrieve(id)
        .then(
          () => null,
          (one) => one,
        )
      return error?.status === 404 && upstream.received.length === before
    })
})

t.test('another key has none of it at any sidecar', async (t) => {
  const { id } = await create(one)
  await arrived()
  const before = upstream.received.length
  const repeated = {
    input: [
      { ...outputText('x'), id: `msg_${id}` },
      { role: 'user', content: 'go' },
    ],
  }
  for (const at of pods) {
    const other = openAi(at, otherKey)
    await t.rejects(other.responses.retrieve(id), MISSING)
    await t.rejects(other.responses.delete(id), MISSING)
    await t.rejects(create(at, { previous_response_id: id }, {}, otherKey), NOT_CONTINUED)
    const input = [{ type: 'item_reference', id: `msg_${id}` }]
    await t.rejects(create(at, { input }, {}, otherKey), MISSING)
  }
  t.equal(upstream.received.length, before, 'nothing is forwarded')
  for (const at of pods)
    await until('nor may it repeat an item', async () =>
      create(at, repeated, {}, otherKey).then(
        () => false,
        ({ status }) => status === 404,
      ),
    )
  t.ok(await create(three, repeated))
})

t.test('the tokens of a background response are counted once over all sidecars that read it', async (t) => {
  const { id } = await create(one, { background: true }, { status: 'queued', output: [], usage: null })
  await arrived()
  upstream.answer = stored(id, { status: 'in_progress', usage: null })
  await soon('it is found', () => openAi(two, key).responses.retrieve(id))
  await arrived()
  const before = await tokens()
  upstream.answer = stored(id)
  for (const at of [two, one, three, two]) {
    await soon('it is read', () => openAi(at, key).responses.retrieve(id))
    await arrived()
  }
  t.equal((await tokens()) - before, 18)
})

t.test('without a hub an answer of another sidecar is missing, and the error says why', async (t) => {
  const { id } = await create(one)
  await hub.stop()
  await until('the sidecars know it', async () =>
    (await Promise.all(pods.map((pod) => pod.readiness()))).every(({ body }) => body.fleet !== 'ok'),
  )
  const why = /not found\. No hub answers whether another gateway of the fleet made it; try again\./
  await t.rejects(openAi(two, key).responses.retrieve(id), { status: 404, message: why })
  await t.rejects(create(two, { previous_response_id: id }), { ...NOT_CONTINUED, message: why })
  upstream.answer = stored(id)
  t.match(await openAi(one, key).responses.retrieve(id), { id }, 'its own one is there')
})
