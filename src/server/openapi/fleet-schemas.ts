// Schemas of a fleet, by their names in the description of a hub's API.

import type { JsonObject } from '../../core/json.ts'
import { choice, flag, list, object, orNull, ref, text, time, whole } from '../../core/schema-builders.ts'
import { SERVED_PAGES } from '../console-pages.ts'

/** An answer about a key or a rule, with who has its change. */
const confirmed = (name: string): JsonObject => ({
  allOf: [ref(name), object({ fleet: ref('FleetConfirmation') })],
})

/** Whose entry it is. */
const OF_SIDECAR = orNull(text('Name of the sidecar that sealed it, or its id once it is forgotten.'))

export const FLEET_SCHEMAS: Record<string, JsonObject> = {
  FleetConfirmation: object({
    registered: whole('Sidecars that may decide by keys of the hub.'),
    acked: whole('Those that have all changes up to this one.'),
    unconfirmed: whole('Those that have not said so. After 0 no call is decided by the old state.'),
    unconfirmed_names: list(text('Name of a sidecar; the first 20.')),
    in_force_everywhere_by: time(
      'From when on no sidecar decides by the old state, because one that hears nothing refuses the keys of the hub.',
    ),
  }),
  FleetUsageEntry: { allOf: [ref('UsageEntry'), object({ sidecar: OF_SIDECAR })] },
  FleetUsageEntryDetail: {
    allOf: [ref('UsageEntryDetail'), object({ sidecar: OF_SIDECAR })],
    description:
      '`erased` is true as well for an exchange that stayed at a sidecar that ships entries alone.',
  },
  FleetUsageLogs: object(
    {
      logs: list(ref('FleetUsageEntry')),
      total: whole('Number of matching entries.'),
      total_is_lower_bound: flag('True when only the newest 10,000 calls were counted; otherwise left out.'),
      next_cursor: text(
        'Cursor of the next page; left out on the last. A page may be shorter than `limit`, because each reads a bounded number of entries.',
      ),
    },
    ['total_is_lower_bound', 'next_cursor'],
  ),
  FleetChanges: {
    allOf: [
      ref('Changes'),
      object(
        {
          changes: list(
            object({
              log: text('Id of the log.'),
              sidecar: orNull(text('Name of the sidecar whose log it is; null for that of the hubs.')),
            }),
          ),
          next_cursor: text(
            'Cursor of the next page; left out on the last. `next_before` is there besides for the entries of one log.',
          ),
        },
        ['next_cursor'],
      ),
    ],
  },
  OrderedErasure: object({
    erased: whole('Number of exchanges erased in the database.'),
    entries: whole('Number of `erase` entries sealed in the log of the hubs.'),
    order: whole('Revision of the order that every sidecar gets, as in the `erase` entry of its log.'),
    fleet: object({
      registered: whole('Sidecars that may have exchanges: all but those that left or are gone.'),
      acked: whole('Those that have applied the order for good.'),
      unconfirmed: whole('Those that have not said so. They apply it when they connect.'),
      unconfirmed_names: list(text('Name of a sidecar; the first 20.')),
      unable_names: list(text('Name of one of them whose release knows no such order; the first 20.')),
    }),
  }),
  HubStatus: object({
    version: text('Release of the hub.'),
    serves: SERVED_PAGES,
    started_at: time('When this hub started.'),
    id: text('Id of the hub, from its start on.'),
    epoch: text('Names the history of changes.'),
    rev: whole('Newest revision that this hub has sent.'),
    feeds: whole('Sidecars with a feed at this hub.'),
    listening: flag('Whether the database notifies this hub of changes; otherwise it is polled.'),
  }),
  ConfirmedNewKey: confirmed('NewKey'),
  ConfirmedKey: confirmed('Key'),
  ConfirmedRevokedKey: confirmed('RevokedKey'),
  ConfirmedRule: confirmed('Rule'),
  Fleet: object({
    epoch: text('Names the history of changes; another one after a backup was restored.'),
    rev: whole('Newest revision.'),
    hubs: list(
      object({
        id: text('Id of the hub, from its start on.'),
        version: text('Its release.'),
        connected: whole('Sidecars with a feed at it.'),
        seen_at: time('When it last wrote.'),
      }),
    ),
    sidecars: list(
      object({
        id: text('Id of the sidecar.'),
        name: text(
          '`namespace/pod`, `cluster/namespace/pod` with several clusters, or as its join token says.',
        ),
        cluster: orNull(text('Name of its cluster; null without one.')),
        namespace: text('Its namespace.'),
        version: text('Its release.'),
        state: choice(
          '`silent` does not answer, `left` said goodbye, `gone` was declared so.',
          ...['connected', 'silent', 'left', 'gone'],
        ),
        rev: whole('Revision that was sent to it.'),
        acked_rev: whole('Revision that it has for good.'),
        last_seen_at: time('When a heartbeat last may have reached it.'),
        max_stale_seconds: whole(
          'Seconds without a heartbeat after which it refuses the keys of the hub.',
          1,
        ),
        nack: list(
          object(
            {
              rev: whole('Revision.'),
              reason: text('Why it is not in force.'),
              rule: text('Name of the rule.'),
              path: text('JSON path in the rule.'),
            },
            ['rule', 'path'],
          ),
        ),
        logs: list(
          object({
            log: text('Id of one of its newest logs.'),
            seq: whole('Newest entry that is stored.'),
            state: choice(
              '`closed` ends with a stop entry, `cut` without one and without contact, `forked` was rewritten and takes no more entries.',
              ...['open', 'closed', 'cut', 'forked'],
            ),
            last_at: time('When that entry was stored.'),
          }),
        ),
        unsent_rules: list(
          text('Name of a rule that it does not get, because it does not know it; the first 20.'),
        ),
      }),
    ),
    total: whole('Number of sidecars.'),
    conflicts: list(
      object({
        key_id: text('Id of a key that is active here and revoked at sidecars, which refuse it.'),
        key_name: text('Its name.'),
        sidecars: list(text('Name of a sidecar.')),
      }),
    ),
  }),
  GoneSidecar: object({ id: text('Id of the sidecar.'), state: choice('Always gone.', 'gone') }),
}
