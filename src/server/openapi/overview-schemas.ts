// Schemas of usage over time and of the gateway's state, by their names in the description of the
// API.

import { OUTCOMES } from '../../audit/entry-fields.ts'
import type { JsonObject } from '../../core/json.ts'
import { flag, list, number, object, orNull, ref, text, time, whole } from '../../core/schema-builders.ts'
import { SERVED_PAGES } from '../console-pages.ts'

/** A column of a series. */
const column = (values: JsonObject): JsonObject => list(orNull(values))

const percentiles = (description: string): JsonObject => ({
  ...object({
    p50: number('At most for half of the calls, to within a tenth.'),
    p95: number('At most for 95 of 100 calls, to within a tenth.'),
  }),
  description: `${description} Null without calls.`,
})

export const OVERVIEW_SCHEMAS: Record<string, JsonObject> = {
  UsageSeries: {
    ...object({
      step_seconds: whole('Length of a step.', 1),
      since: time('Start of the first step.'),
      until: time('End of the last step, exclusive. The last step is not over yet.'),
      times: list(whole('Start of a step, seconds since the epoch.')),
      requests: column(whole('Number of calls that were sealed.')),
      blocked: column(whole('Calls that a rule blocked for their content.')),
      refused: column(whole('Calls that a limit, a budget, or a rule on models or tools refused.')),
      tokens: column(whole('Tokens of prompts and answers.')),
      cost_usd: column(number('Known costs in USD.')),
      added_latency_ms: column(
        number('Mean milliseconds that the gateway added to a call; null without calls, and for days.'),
      ),
      streams_in_flight: column(whole('Maximum streams at a time; null for days.')),
    }),
    description:
      'Columns of equal length, oldest step first, every step present. Null where nothing is known, such as minutes before the start of the process.',
  },
  Overview: object({
    since: time('Start of the period: its first ten minutes, or the start of the process.'),
    outcomes: {
      ...object(Object.fromEntries(OUTCOMES.map((outcome) => [outcome, whole('Number of calls.')]))),
      description: 'Calls by how they ended, as `outcome` of an entry.',
    },
    added_latency_ms: orNull(percentiles('Milliseconds that the gateway added to a call.')),
    time_to_first_token_ms: orNull(percentiles('Milliseconds to the first chunk of a stream.')),
    budgets: {
      ...list(ref('UsageLimit')),
      description:
        'Limits of money, or of a calendar month, that are used to 80 % or more; the 100 with the highest share.',
    },
  }),
  Configuration: object({
    settings: list(
      object({
        path: text('Keys of the setting, such as `audit.capture`. A list is one setting.'),
        value: { description: 'Any JSON. References to secrets are shown; what may be one is `(hidden)`.' },
        description: orNull(text('What the setting does.')),
        is_default: flag('Whether the value is the default.'),
        needs_restart: flag('Whether a change needs a restart; otherwise SIGHUP puts it in force.'),
      }),
    ),
    file: object({
      changed: flag('Whether the file differs from what is in force.'),
      needs_reload: list(text('A changed setting that SIGHUP puts in force.')),
      needs_restart: list(text('A changed setting that needs a restart.')),
      errors: list(text('An error of the file; with any, nothing of it is put in force.')),
    }),
  }),
  Status: object({
    version: text('Version of the gateway.'),
    serves: SERVED_PAGES,
    started_at: time('When the process began.'),
    ready: flag('Whether the gateway takes calls.'),
    draining: flag('Whether the gateway is shutting down.'),
    store: object({
      available: flag('Whether an entry could be sealed now.'),
      used_bytes: whole('Bytes of the store in use.'),
      limit_bytes: whole('Size from which calls are refused (audit.maxBytes).'),
      free_bytes: orNull(whole('Bytes free on the disk of the data folder; null when not known.')),
      journal_lag_frames: whole('Writes that the database does not have yet.'),
      journal_lag_seconds: number('Time since the database had every write.'),
      quarantines: whole('Damaged logs that were set aside.'),
    }),
    rules: object({
      revision: text('Revision of the rule set in force.'),
      total: whole('Number of rules.'),
      enabled: whole('Rules that are enabled.'),
      overrides: whole('Rules that are switched through the API against their file.'),
      in_force: flag('False while an earlier version of the rule files is in force.'),
      candidate: flag('Whether GET /api/v1/rules/candidate compares candidate rules.'),
      errors: list(text('An error in rules: file, position, path and message.')),
      loaded_at: time('When rule files were last read without errors.'),
    }),
    prices: orNull(
      object({
        revision: orNull(text('As GET /api/v1/prices has it.')),
        in_force: flag('False while an earlier version of the price file is in force.'),
      }),
    ),
    upstreams: list(
      object({
        name: text('Name of the upstream.'),
        open: flag('Whether its breaker is open, so that calls pass it over.'),
      }),
    ),
    audit: object({
      seq: whole('Sequence number of the newest entry.'),
      hash: text('`sha256:` and its hash.'),
      checkpoint: orNull(
        object({
          size: whole('Entries that the newest checkpoint of this run covers.'),
          created_at: orNull(time('When it was signed.')),
        }),
      ),
      verification: object({
        running: flag('Whether a full check is running.'),
        ok: orNull(flag('Result of the last full check; null before the first.')),
        finished_at: orNull(time('When the last full check ended.')),
      }),
      retention: object({
        waits: flag('Whether nothing is removed for its age for a while.'),
        reason: orNull(text('Why, and what ends it; null while it does not wait.')),
      }),
    }),
    calls_in_flight: whole('Calls that are running, or whose answer is still being read.'),
    fleet: orNull(
      object({
        hub: text('URL of the hub that is connected, or tried next.'),
        connected: flag('Whether the hub is heard.'),
        epoch: orNull(text('History of changes that the keys follow; null before the first contact.')),
        rev: orNull(whole('Revision up to which the keys are applied.')),
        last_heartbeat_at: orNull(time('When the last heartbeat that is applied here was made.')),
        stale_in_seconds: number('Time until the keys of the hub are refused; 0 when they are.'),
        keys: whole('Keys that the hub has sent.'),
        problem: orNull(text('What is wrong with the connection; null if nothing is.')),
        log: object({
          id: text('Id of the usage log that is sent to the hub.'),
          shipped_seq: orNull(whole('The newest entry that a hub has for good; null for none.')),
          unshipped: whole('Entries that no hub is known to have.'),
          oldest_unshipped_at: orNull(time('When the oldest of them was sealed; null without any.')),
          ended: flag('Whether nothing more of this log is sent, because the hub has another history of it.'),
          problem: orNull(text('Why entries are not sent; null if they are.')),
        }),
      }),
    ),
  }),
}
