// The gauges of the gateway: name, help and how each is read from its state. Names get the prefix
// `sidegate_`.

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
  /** Those of the listeners with TLS. */
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

/** Shown by gateways and hubs. */
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
