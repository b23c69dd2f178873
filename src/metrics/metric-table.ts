// The counters and histograms of the gateway: name, help, labels and buckets. Names get the prefix
// `sidegate_`.

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
const OVERHEAD_SECONDS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5]
const SCORES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]

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
