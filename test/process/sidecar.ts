// Starts gateways that take their keys from a small hub.

import type { Test } from 'tap'
import { SIDECAR_TOKEN, type TestHub } from '../fleet/fixture.ts'
import { type GatewayOptions, openGateway, prompt, type TestGateway } from './gateway.ts'
import { until } from './until.ts'
import type { ScriptedUpstream } from './upstream.ts'

/** Options of a gateway with a hub. */
export const hubOptions = (upstream: ScriptedUpstream, hub: TestHub, fleet: object = {}): GatewayOptions => ({
  upstreamUrl: upstream.baseUrl,
  env: { SIDECAR_TOKEN },
  config: {
    // A stop waits so long for a hub that is away.
    limits: { drainSeconds: 1 },
    fleet: { hubs: [hub.url], token: { env: 'SIDECAR_TOKEN' }, maxStaleSeconds: 60, ...fleet },
  },
})

export const isReady = (gateway: TestGateway): Promise<void> =>
  until('the gateway is ready', async () => (await gateway.readiness()).status === 200)

/** Starts a gateway with a hub until the end of the test. */
export async function openSidecar(
  t: Pick<Test, 'teardown'>,
  upstream: ScriptedUpstream,
  hub: TestHub,
  fleet: object = {},
  waits = true,
): Promise<TestGateway> {
  const gateway = await openGateway(t, hubOptions(upstream, hub, fleet))
  if (waits) await isReady(gateway)
  return gateway
}

/** Returns the status of a call with a key. */
export async function statusWith(gateway: TestGateway, key: string): Promise<number> {
  const response = await gateway.chat(key, prompt('hi'))
  await response.arrayBuffer()
  return response.status
}
