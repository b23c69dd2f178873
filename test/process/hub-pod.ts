// Starts gateways as Pods of one cluster, which a real hub lets connect.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { ISSUER, keySetOf, newKey, podClaims, signed } from '../hub/tokens.ts'
import { openGateway, type TestGateway, writeDeployment } from './gateway.ts'
import { until } from './until.ts'

const clusterKey = newKey()
const allow = [{ namespace: '*', serviceAccount: 'web' }]
/** The configuration of a hub that takes the Pods, and the file beside it. */
export const POD_HUB = {
  config: { join: { clusters: [{ name: 'prod', issuer: ISSUER, jwks: { file: 'jwks.json' }, allow }] } },
  files: { 'jwks.json': keySetOf(clusterKey) },
}

export interface PodOptions {
  /** Name of the Pod; `web-0` by default. */
  readonly pod?: string
  /** `shop` by default. */
  readonly namespace?: string
  /** Merged into the section `fleet`. */
  readonly fleet?: object
  /** Sections of the configuration. */
  readonly config?: object
}

/** Starts a gateway as a Pod until the end of the test; resolves when it is ready. */
export async function openPod(
  t: Pick<Test, 'teardown'>,
  url: string,
  upstreamUrl: string,
  { pod = 'web-0', namespace = 'shop', fleet = {}, config = {} }: PodOptions = {},
): Promise<TestGateway> {
  const { folder } = writeDeployment({ upstreamUrl })
  const claims = podClaims(Date.now(), { namespace, pod, uid: `uid-${namespace}-${pod}` })
  writeFileSync(join(folder, 'token'), await signed(claims, clusterKey))
  const sections = {
    fleet: { hubs: [url], token: { file: 'token' }, maxStaleSeconds: 600, ...fleet },
    limits: { drainSeconds: 1 },
    ...config,
  }
  const gateway = await openGateway(t, { upstreamUrl, folder, rules: 'rules: []\n', config: sections })
  await until('the sidecar is ready', async () => (await gateway.readiness()).status === 200)
  return gateway
}
