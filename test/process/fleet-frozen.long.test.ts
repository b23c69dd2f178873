// A sidecar as a process that is stopped for a while.

import t from 'tap'
import { startHub } from '../fleet/fixture.ts'
import { openProgram } from './gateway-process.ts'
import { hubOptions, isReady, statusWith } from './sidecar.ts'
import { until } from './until.ts'
import { completion, json, startUpstream } from './upstream.ts'

const upstream = await startUpstream(json(completion('ok')))
t.teardown(() => upstream.close())

t.test('a process that was frozen is not made fresh by heartbeats that waited', async (t) => {
  const hub = await startHub(t)
  const { key } = hub.create()
  const gateway = await openProgram(t, hubOptions(upstream, hub, { maxStaleSeconds: 5 }))
  await isReady(gateway)
  t.equal(await statusWith(gateway, key), 200)
  gateway.child.kill('SIGSTOP')
  const frozenMs = performance.now()
  // Heartbeats of the first second wait in the socket; then the hub is gone.
  await until('heartbeats were sent', () => performance.now() - frozenMs > 500)
  hub.isFrozen = true
  await until('the keys are too old', () => performance.now() - frozenMs > 5600)
  gateway.child.kill('SIGCONT')
  t.equal(await statusWith(gateway, key), 503)
  hub.isFrozen = false
  await until('the hub is heard again', async () => (await statusWith(gateway, key)) === 200)
})
