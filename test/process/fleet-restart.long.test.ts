// A sidecar that starts again while its hub is away.

import t from 'tap'
import { startHub } from '../fleet/fixture.ts'
import { prompt, startGateway } from './gateway.ts'
import { hubOptions, openSidecar, statusWith } from './sidecar.ts'
import { until } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

t.test('keys last over a restart without a hub, until they are stale', async (t) => {
  const hub = await startHub(t)
  const [kept, revoked] = [hub.create(), hub.create()]
  const first = await openSidecar(t, upstream, hub, { maxStaleSeconds: 5 })
  hub.revoke(revoked.id)
  await hub.acked()
  await hub.close()
  // Nobody heard the goodbye, so the keys count on.
  await first.stop()
  const options = hubOptions(upstream, hub, { maxStaleSeconds: 5 })
  const second = await startGateway({ ...options, folder: first.folder })
  t.teardown(() => second.stop())
  t.equal((await second.readiness()).status, 200, 'stored keys are enough')
  t.equal(await statusWith(second, kept.key), 200)
  t.equal(await statusWith(second, revoked.key), 401)
  await until('the keys are stale', async () => (await statusWith(second, kept.key)) === 503)
  const stale = await second.chat(kept.key, prompt('hi'))
  t.equal(stale.headers.get('retry-after'), '2')
  t.match(await stale.json(), { error: { code: 'fleet_stale', message: /api\/v1\/status/ } })
  t.equal(await statusWith(second, revoked.key), 401)
  t.match(await second.readiness(), { status: 200, body: { fleet: /no hub was heard/ } })
  t.match((await second.api('GET', '/status')).body.fleet, { connected: false, stale_in_seconds: 0 })
})
