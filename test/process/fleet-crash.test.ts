// A sidecar that is killed keeps what it acknowledged, and one whose disk takes no writes refuses a
// revoked key.

import t from 'tap'
import { startHub } from '../fleet/fixture.ts'
import { beforeWrites } from '../store/fixture.ts'
import { openProgram } from './gateway-process.ts'
import { hubOptions, isReady, openSidecar, statusWith } from './sidecar.ts'
import { fetchInTime } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

t.test('what was acknowledged is refused after kill -9, without a hub', async (t) => {
  const hub = await startHub(t)
  const [kept, revoked] = [hub.create(), hub.create()]
  const options = hubOptions(upstream, hub)
  const first = await openProgram(t, options)
  await isReady(first)
  t.equal(await statusWith(first, revoked.key), 200)
  hub.revoke(revoked.id)
  await hub.acked(hub.rev, ({ durable }) => durable)
  await first.kill('SIGKILL')
  await hub.close()
  const second = await openProgram(t, { ...options, folder: first.folder })
  t.equal(await statusWith(second, kept.key), 200)
  t.equal(await statusWith(second, revoked.key), 401)
  t.equal(await second.stop(), 0)
})

t.test('a disk that takes no writes does not keep a key from being revoked', async (t) => {
  const hub = await startHub(t)
  const { id, key } = hub.create()
  const gateway = await openSidecar(t, upstream, hub)
  const models = async () => {
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetchInTime(`${gateway.url}/v1/models`, { headers })
    await response.arrayBuffer()
    return response.status
  }
  await hub.acked(hub.rev, ({ durable }) => durable)
  const heal = beforeWrites(t, () => {
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  })
  hub.revoke(id)
  await hub.acked(hub.rev, ({ durable }) => !durable)
  t.equal(await models(), 401)
  heal()
  await hub.acked(hub.rev, ({ durable }) => durable)
})
