// Starts gateways of this process as Pods that a hub lets connect.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { clusterKey } from '../hub/pods.ts'
import { podClaims, signed } from '../hub/tokens.ts'
import { openGateway, type TestGateway, writeDeployment } from './gateway.ts'
import { until } from './until.ts'

export interface PodOptions {
  readonly upstreamUrl: string
  /** Address of the hub. */
  readonly hub: string
  readonly pod: string
  /** Merged into the section `fleet`. */
  readonly fleet?: object
  /** Merged into the section `limits`. */
  readonly limits?: object
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a gateway as a Pod, until the end of the test; resolves when it is ready. */
export async function openPod(
  t: Pick<Test, 'teardown'>,
  { upstreamUrl, hub, pod, fleet = {}, limits = {}, env = {} }: PodOptions,
): Promise<TestGateway> {
  const { folder } = writeDeployment({ upstreamUrl })
  const token = await signed(podClaims(Date.now(), { pod, uid: `uid-${pod}` }), clusterKey)
  writeFileSync(join(folder, 'token'), token)
  const gateway = await openGateway(t, {
    ...{ upstreamUrl, folder, env },
    rules: 'rules: []\n',
    config: {
      // A stop waits so long for a hub that is away.
      limits: { drainSeconds: 1, ...limits },
      fleet: { hubs: [hub], token: { file: 'token' }, maxStaleSeconds: 600, ...fleet },
    },
  })
  await until(`${pod} is ready`, async () => (await gateway.readiness()).status === 200)
  return gateway
}
