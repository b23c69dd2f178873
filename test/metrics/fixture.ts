// State of a gateway for the tests of its metrics.

import type { GatewayState } from '../../src/metrics/registry.ts'

export const STATE: GatewayState = {
  policyRevision: 'r1',
  rules: [
    { source: 'file', enabled: true },
    { source: 'file', enabled: true },
    { source: 'api', enabled: false },
  ],
  overrides: 0,
  oldestOverrideSeconds: 0,
  activeKeys: 2,
  budgets: [],
  tokenLimits: 0,
  auditSequence: 7,
  auditAvailable: true,
  priceFileInForce: true,
  ruleFilesInForce: true,
  configurationStale: false,
  auditQuarantines: 0,
  checkpoint: null,
  verified: null,
  storeBytes: 1024,
  storeLimitBytes: 4096,
  journal: { lagFrames: 2, lagMs: 50, segments: 3, replayMs: 10 },
  callsInFlight: 1,
  upstreamsOpen: 0,
  fleet: null,
  certificates: [],
}
