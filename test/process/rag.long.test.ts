// Retrieval with OpenAI's official client against the stand-in: a text that was indexed is found by
// its vector in any batch, after a restart and through another replica.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type OpenAI from 'openai'
import t from 'tap'
import { startStandIn } from '../../src/demo/stand-in-server.ts'
import { openAi } from './client.ts'
import { openGateway, type TestGateway } from './gateway.ts'

const MODEL = 'demo/embedding'
const DOCUMENTS = [
  'The contract of ann@example.com ends in May.',
  'The contract of bob@example.org ends in May.',
  'Call +1 415 555 2671 about the card 4111 1111 1111 1111.',
  'Nothing personal in this one.',
]

const standIn = await startStandIn()
t.teardown(() => standIn.close())

const start = (config: object, folder?: string) =>
  openGateway(t, {
    upstreamUrl: standIn.baseUrl,
    config: { pii: config },
    ...(folder === undefined ? {} : { folder }),
  })

const clientOf = async (gateway: TestGateway) => openAi(gateway, (await gateway.createKey('indexer')).key)

async function embed(client: OpenAI, ...input: string[]): Promise<string[]> {
  const { data } = await client.embeddings.create({ model: MODEL, input, encoding_format: 'float' })
  return data.map(({ embedding }) => embedding.join())
}

t.test('a restart, a batch and a replica change no vector', async (t) => {
  const first = await start({})
  const index = await embed(await clientOf(first), ...DOCUMENTS)
  t.equal(new Set(index).size, DOCUMENTS.length, 'two people have two vectors')
  await first.stop()

  const restarted = await start({}, first.folder)
  const client = await clientOf(restarted)
  const queries = await embed(client, ...[...DOCUMENTS].reverse())
  t.same(queries.reverse(), index, 'in another batch')
  const [found] = await embed(client, DOCUMENTS[1]!.replace('example.org', 'EXAMPLE.ORG'))
  t.equal(index.indexOf(found!), 1, 'alone and in another spelling')

  const key = join(restarted.folder, 'shared.key')
  writeFileSync(key, readFileSync(join(restarted.folder, 'data/pseudonym-key')), { mode: 0o600 })
  const replica = await clientOf(await start({ pseudonymKey: { file: key } }))
  t.same(await embed(replica, ...DOCUMENTS), index, 'with the same key')
  const other = await clientOf(await start({}))
  const vectors = await embed(other, ...DOCUMENTS)
  t.not(vectors[0], index[0], 'another key gives other vectors')
  t.equal(vectors[3], index[3])
})

t.test('with numbers two people have one vector', async (t) => {
  const client = await clientOf(await start({ embeddings: 'number' }))
  const [ann, bob] = await embed(client, DOCUMENTS[0]!, DOCUMENTS[1]!)
  t.equal(ann, bob)
})
