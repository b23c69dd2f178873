// The metrics of the gateway: name, help, labels and buckets. Names get the prefix `sidegate_`.

/** State that the gauges show, read once for each page. */
export interface GatewayState {
  readonly policyRevision: string
  readonly rules: readonly { readonly source: 'file' | 'api' | 'hub'; readonly enabled: boolean }[]
  readonly overrides: number
  readonly oldestOverrideSeconds: number
  readonly activeKeys: number
  readonly tokenLimits: number
  /** The limits of money, with the most that one subject has used. */
  readonly budgets: readonly {
    readonly rule: string
    readonly usedUsd: number
    readonly allowedUsd: number
  }[]
  readonly auditSequence: number
  readonly auditAvailable: boolean
  /** True while the current rule files are in force. */
  readonly ruleFilesInForce: boolean
  /** False while an earlier version of the price file is in force. */
  readonly priceFileInForce: boolean
  /** True while the configuration file differs from what is in force. */
  readonly configurationStale: boolean
  /** Number of quarantined logs. */
  readonly auditQuarantines: number
  /** The newest checkpoint; null before the first. */
  readonly checkpoint: {
    readonly sequence: number
    readonly fingerprint: number
    readonly timeSeconds: number
  } | null
  /** The last full verification; null before the first. */
  readonly verified: { readonly ok: boolean; readonly sequence: number; readonly timeSeconds: number } | null
  readonly storeBytes: number
  readonly storeLimitBytes: number
  /** Null when another process holds the journal. */
  readonly journal: {
    readonly lagFrames: number
    readonly lagMs: number
    readonly segments: number
    readonly replayMs: number
  } | null
  readonly callsInFlight: number
  /** Upstreams whose breaker is open. */
  readonly upstreamsOpen: number
  /** Null without a hub. */
  readonly fleet: FleetGauges | null
  /** Of the listeners with TLS. */
  readonly certificates: readonly CertificateState[]
}

/** The certificate of a listener. */
export interface CertificateState {
  readonly listener: string
  /** False while its files hold another one that cannot be served. */
  readonly isCurrent: boolean
  readonly expiresAtSeconds: number
  readonly lifetimeSeconds: number
}

/** What a sidecar counts of its hub. */
interface FleetGauges {
  readonly connected: boolean
  /** Age of the last applied heartbeat; infinite before the first. */
  readonly ageSeconds: number
  /** Age from which the keys of the hub are refused. */
  readonly maxAgeSeconds: number
  readonly keys: number
  readonly unshippedEntries: number
  /** Age of the oldest of them; 0 without any. */
  readonly unshippedAgeSeconds: number
  /** True when the log here and that of the hub cannot be brought together. */
  readonly isForked: boolean
  /** Changes of the hub that are not in force here. */
  readonly refusedChanges: number
  /** Whether limits of the fleet are counted in this process alone. */
  readonly isCountedAlone: boolean
}

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
const OVERHEAD_SECONDS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5]
const SCORES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]

type Read = (state: GatewayState) => number

type Budget = GatewayState['budgets'][number]

/** Gauges of each limit of money. */
export const BUDGET_GAUGES: readonly (readonly [
  name: string,
  help: string,
  read: (budget: Budget) => number,
])[] = [
  [
    'budget_used_usd',
    'Money used of a limit, by the key or label that has used most; what running calls may cost included.',
    ({ usedUsd }) => usedUsd,
  ],
  ['budget_allowed_usd', 'Money that a limit allows in its window.', ({ allowedUsd }) => allowedUsd],
]

/** Of a gateway and of a hub. */
export const CONFIGURATION_STALE = {
  name: 'configuration_stale',
  help: '1 while the configuration file differs from what is in force or has errors, 0 otherwise.',
} as const

/** Gauges that are read from the state of the gateway for each page. */
export const GAUGES: readonly (readonly [name: string, help: string, read: Read])[] = [
  [
    'rule_files_in_force',
    '1 while the current rule files are in force, 0 while an earlier version is.',
    ({ ruleFilesInForce }) => Number(ruleFilesInForce),
  ],
  [
    'price_file_in_force',
    '1 while the current price file is in force or there is none, 0 while an earlier version is.',
    ({ priceFileInForce }) => Number(priceFileInForce),
  ],
  [
    CONFIGURATION_STALE.name,
    CONFIGURATION_STALE.help,
    ({ configurationStale }) => Number(configurationStale),
  ],
  [
    'rule_overrides',
    'Rules whose enabled state is overridden through the API.',
    ({ overrides }) => overrides,
  ],
  [
    'rule_override_oldest_seconds',
    'Age of the oldest override; 0 without one.',
    ({ oldestOverrideSeconds }) => oldestOverrideSeconds,
  ],
  [
    'keys_active',
    'Accepted API keys, from the API and from the configuration.',
    ({ activeKeys }) => activeKeys,
  ],
  [
    'token_limit_windows',
    'Open token windows, one for each key and rate_limit rule.',
    ({ tokenLimits }) => tokenLimits,
  ],
  [
    'audit_chain_sequence',
    'Sequence number of the newest sealed entry.',
    ({ auditSequence }) => auditSequence,
  ],
  [
    'audit_available',
    '1 while entries can be sealed; at 0 calls are refused.',
    ({ auditAvailable }) => Number(auditAvailable),
  ],
  [
    'audit_quarantines',
    'Quarantined logs in the data folder (quarantine-*), until someone removes them.',
    ({ auditQuarantines }) => auditQuarantines,
  ],
  [
    'audit_checkpoint_sequence',
    'Newest entry covered by the newest checkpoint; -1 before the first.',
    ({ checkpoint }) => checkpoint?.sequence ?? -1,
  ],
  [
    'audit_checkpoint_fingerprint',
    'First 52 bits of the Merkle root in the newest checkpoint. A sample stored elsewhere is a witness of the log.',
    ({ checkpoint }) => checkpoint?.fingerprint ?? 0,
  ],
  [
    'audit_checkpoint_timestamp_seconds',
    'Time of the newest checkpoint; 0 before the first.',
    ({ checkpoint }) => checkpoint?.timeSeconds ?? 0,
  ],
  [
    'audit_verified',
    'Result of the last full verification, by schedule, on request or by sidegate audit verify: 1 intact, 0 not, -1 before the first.',
    ({ verified }) => (verified === null ? -1 : Number(verified.ok)),
  ],
  [
    'audit_verified_sequence',
    'Newest entry of the last full verification; -1 before the first.',
    ({ verified }) => verified?.sequence ?? -1,
  ],
  [
    'audit_verified_timestamp_seconds',
    'End of the last full verification; 0 before the first.',
    ({ verified }) => verified?.timeSeconds ?? 0,
  ],
  ['store_bytes', 'Bytes that the store uses.', ({ storeBytes }) => storeBytes],
  ['store_limit_bytes', 'Maximum size of the store.', ({ storeLimitBytes }) => storeLimitBytes],
  [
    'journal_lag_frames',
    'Batches of changes that are in the journal and not in the database yet.',
    ({ journal }) => journal?.lagFrames ?? 0,
  ],
  [
    'journal_lag_seconds',
    'Time since the database last had everything that is in the journal.',
    ({ journal }) => (journal?.lagMs ?? 0) / 1000,
  ],
  ['journal_segments', 'Files of the journal.', ({ journal }) => journal?.segments ?? 0],
  [
    'journal_replay_seconds',
    'Time that the start took to bring the journal of the last process into the database.',
    ({ journal }) => (journal?.replayMs ?? 0) / 1000,
  ],
  ['calls_in_flight', 'Calls in flight.', ({ callsInFlight }) => callsInFlight],
  [
    'upstreams_open',
    'Upstreams that calls pass over, because their breaker is open.',
    ({ upstreamsOpen }) => upstreamsOpen,
  ],
]

/** Gauges of a gateway that takes its keys from a hub; others do not have them. */
export const FLEET_GAUGES: readonly (readonly [
  name: string,
  help: string,
  read: (fleet: FleetGauges) => number,
])[] = [
  ['fleet_connected', '1 while a hub is heard.', ({ connected }) => Number(connected)],
  [
    'fleet_stale_seconds',
    'Age of the last heartbeat of a hub that is applied here; +Inf before the first.',
    ({ ageSeconds }) => ageSeconds,
  ],
  [
    'fleet_max_stale_seconds',
    'Age of that heartbeat from which the keys of the hub are refused here (fleet.maxStaleSeconds).',
    ({ maxAgeSeconds }) => maxAgeSeconds,
  ],
  ['fleet_keys', 'Keys that the hub has sent, refused ones included.', ({ keys }) => keys],
  [
    'fleet_unshipped_entries',
    'Entries of the usage log that no hub is known to have.',
    ({ unshippedEntries }) => unshippedEntries,
  ],
  [
    'fleet_unshipped_age_seconds',
    'Age of the oldest entry that no hub is known to have; 0 without any.',
    ({ unshippedAgeSeconds }) => unshippedAgeSeconds,
  ],
  [
    'fleet_forked',
    '1 when the hub has another history of this usage log, so that nothing more of it is sent.',
    ({ isForked }) => Number(isForked),
  ],
  [
    'fleet_refused_changes',
    'Changes of the hub that cannot be in force here: keys, or a set of rules or prices; /readyz says why.',
    ({ refusedChanges }) => refusedChanges,
  ],
  [
    'fleet_limits_alone',
    '1 while no hub is heard and each gateway counts the limits of the fleet alone (limits.onHubLoss: local).',
    ({ isCountedAlone }) => Number(isCountedAlone),
  ],
]

/** Gauges of the certificate of each listener with TLS, of a gateway and of a hub. */
export const CERTIFICATE_GAUGES: readonly (readonly [
  name: string,
  help: string,
  read: (certificate: CertificateState) => number,
])[] = [
  [
    'certificate_expires_seconds',
    'Time at which the certificate of a listener ends, seconds since the Unix epoch.',
    ({ expiresAtSeconds }) => expiresAtSeconds,
  ],
  [
    'certificate_lifetime_seconds',
    'Time from the beginning of the certificate of a listener to its end.',
    ({ lifetimeSeconds }) => lifetimeSeconds,
  ],
  [
    'certificate_in_force',
    '1 while the certificate in the files of a listener is served, 0 while an earlier one is.',
    ({ isCurrent }) => Number(isCurrent),
  ],
]

/** Counters by the name that the code uses. */
export const COUNTERS = {
  requests: {
    name: 'requests_total',
    help: 'Sealed calls by API and outcome.',
    labels: ['api', 'outcome', 'stream'],
  },
  refusals: {
    name: 'refusals_total',
    help: 'Requests answered with an error, by its code.',
    labels: ['code'],
  },
  tokensRefused: {
    name: 'jwt_refused_total',
    help: 'Calls refused because of a token of an issuer, by the check that failed: expired, audience, issuer, key, algorithm, signature, claims, malformed or no_keys.',
    labels: ['reason'],
  },
  issuerKeyLoads: {
    name: 'jwt_key_loads_total',
    help: 'Readings of the public keys of issuers by result; with error the last good ones stay in force.',
    labels: ['result'],
  },
  signIns: {
    name: 'sign_ins_total',
    help: 'Sign-ins to the management API: ok, wrong_token, throttled, off without an admin token, or of single sign-on no_role, unfit_name and oidc_failed.',
    labels: ['result'],
  },
  keyTokens: {
    name: 'key_tokens_total',
    help: 'Tokens by name of the API key and direction; empty with metrics.keyNames off.',
    labels: ['key', 'direction'],
  },
  keyCost: {
    name: 'key_cost_usd_total',
    help: 'Known cost in USD by name of the API key; empty with metrics.keyNames off.',
    labels: ['key'],
  },
  cost: { name: 'cost_usd_total', help: 'Known cost in USD by model.', labels: ['model'] },
  tokens: { name: 'tokens_total', help: 'Tokens by direction and model.', labels: ['direction', 'model'] },
  piiFindings: {
    name: 'pii_findings_total',
    help: 'Findings of personal data by kind and direction.',
    labels: ['kind', 'direction'],
  },
  recogniserRequests: {
    name: 'recogniser_requests_total',
    help: 'Requests to recognisers by result: ok, timeout, unreachable, status (not 200), invalid or overloaded. A call counts its first failure at a recogniser.',
    labels: ['recogniser', 'result'],
  },
  binaryParts: {
    name: 'binary_parts_total',
    help: 'Payloads that could not be scanned.',
    labels: ['decision'],
  },
  thoughtsDropped: {
    name: 'thoughts_dropped_total',
    help: 'Signed blocks of reasoning left out of requests, because their original is not remembered.',
    labels: [],
  },
  upstreamCalls: {
    name: 'upstream_calls_total',
    help: 'Calls by upstream: answered, failed, or passed over because its breaker is open.',
    labels: ['upstream', 'result'],
  },
  upstreamListsFailed: {
    name: 'upstream_lists_failed_total',
    help: 'Lists of models that an upstream did not give.',
    labels: ['upstream'],
  },
  ruleDecisions: {
    name: 'rule_decisions_total',
    help: 'Rule hits by rule, action and direction.',
    labels: ['rule', 'action', 'direction'],
  },
  toolCalls: {
    name: 'tool_calls_total',
    help: 'Tools that answers called (called) and that rules refused in requests and answers (refused).',
    labels: ['tool', 'decision'],
  },
  candidateCalls: {
    name: 'candidate_calls_total',
    help: 'Calls also judged by the candidate rules, by whether these would have changed anything.',
    labels: ['changed'],
  },
  candidateDifferences: {
    name: 'candidate_differences_total',
    help: 'Differences between the action of a rule in force and as a candidate.',
    labels: ['rule', 'live', 'candidate'],
  },
  ruleReloads: { name: 'rule_reloads_total', help: 'Loads of the rule files by result.', labels: ['result'] },
  priceReloads: {
    name: 'price_reloads_total',
    help: 'Loads of the price file by result.',
    labels: ['result'],
  },
  unpricedRequests: {
    name: 'unpriced_requests_total',
    help: 'Sealed calls that used tokens of a model without a price.',
    labels: [],
  },
  auditEntries: { name: 'audit_entries_total', help: 'Sealed entries by type.', labels: ['type'] },
  auditPruned: {
    name: 'audit_pruned_entries_total',
    help: 'Entries deleted because of their age or the size of the store.',
    labels: [],
  },
  auditContentDropped: {
    name: 'audit_content_dropped_total',
    help: 'Calls sealed without their exchange because the store was full (audit.whenFull: drop-content).',
    labels: [],
  },
  fleetReconnects: {
    name: 'fleet_reconnects_total',
    help: 'Attempts to connect to a hub besides the first.',
    labels: [],
  },
  fleetShipped: {
    name: 'fleet_shipped_entries_total',
    help: 'Entries of the usage log that a hub has for good.',
    labels: [],
  },
  fleetContentKept: {
    name: 'fleet_content_kept_total',
    help: 'Exchanges that were too long to be sent to a hub, and stay here.',
    labels: [],
  },
  fleetLeaseRequests: {
    name: 'fleet_lease_requests_total',
    help: 'Requests to hubs for parts of limits, by result: answered or failed.',
    labels: ['result'],
  },
  fleetLimits: {
    name: 'fleet_limits_covered_total',
    help: 'Limits of the fleet that calls were covered by, by source: lease, share, local, monitored, refused by the hub, or away when no hub answers and nothing is left without one.',
    labels: ['source'],
  },
  logLinesDropped: {
    name: 'log_lines_dropped_total',
    help: 'Log lines dropped because standard output took none for too long. No entry of the usage log is lost.',
    labels: [],
  },
} as const

/** Histograms by the name that the code uses. */
export const HISTOGRAMS = {
  duration: {
    name: 'request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
    labels: ['outcome'],
    bounds: SECONDS,
  },
  overhead: {
    name: 'overhead_seconds',
    help: 'Time that the gateway itself takes, by step of a call.',
    labels: ['phase'],
    bounds: OVERHEAD_SECONDS,
  },
  upstreamDuration: {
    name: 'upstream_duration_seconds',
    help: 'Time that calls wait for the upstream.',
    labels: ['status'],
    bounds: SECONDS,
  },
  timeToFirstToken: {
    name: 'time_to_first_token_seconds',
    help: 'Time to first token of streamed answers.',
    labels: [],
    bounds: SECONDS,
  },
  injectionScore: {
    name: 'injection_score',
    help: 'Prompt injection scores of the calls that were scored.',
    labels: [],
    bounds: SCORES,
  },
  auditCommit: {
    name: 'audit_commit_seconds',
    help: 'Time until a sealed entry is durable.',
    labels: [],
    bounds: OVERHEAD_SECONDS,
  },
} as const
