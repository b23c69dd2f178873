// Which sidecars there are, at which hub each has its feed, and what each has acknowledged. Every
// hub writes what its own sidecars report and reads the rest.

import type { Actor } from '../core/actor.ts'
import type { Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonValue } from '../core/json.ts'
import type { Database } from './database.ts'
import type { HubLog, LedgerOptions } from './hub-log.ts'

/** The channel of notifications about acknowledgements; the hub is the payload. */
export const ACKS_CHANNEL = 'sidegate_ack'
/** A hub that wrote nothing for so long counts with all its sidecars as silent. */
const HUB_SILENCE_MS: Milliseconds = 1500
/** After so long the sidecars of a hub that ended without a word are released. */
export const HUB_LOST_MS: Milliseconds = 5000

/** When a heartbeat may last have reached sidecar `s`, whose hub is `h`. */
export const CONTACT = `case when s.hub is null then s.last_seen_at
  else greatest(s.last_seen_at, coalesce(h.seen_at, now())) end`

export type SidecarState = 'connected' | 'silent' | 'left' | 'gone'

/** Who a sidecar is, from its credential. */
export interface SidecarName {
  readonly id: string
  /** Null for one that joined with a token without a cluster. */
  readonly cluster: string | null
  readonly namespace: string
  readonly name: string
}

/** What a sidecar states when it opens a feed. */
export interface SidecarTerms {
  readonly version: string
  /** Names of the terms that it enforces. */
  readonly features: readonly string[]
  readonly maxStaleSeconds: number
  /** The revision that it has applied, in this epoch; 0 for none. */
  readonly rev: number
}

/** A sidecar as the database has it. */
export interface SidecarRow extends SidecarName {
  readonly version: string
  readonly features: readonly string[]
  readonly state: SidecarState
  readonly max_stale_seconds: number
  readonly acked_rev: number
  /** When a heartbeat may last have reached it. */
  readonly contact_at: Milliseconds
  /** Its feed is open, at a hub that runs. */
  readonly is_open: boolean
  /** The hub at which its feed is or was open; null after its feed was closed. */
  readonly hub: string | null
  /** Whether it may still decide by what it has. */
  readonly is_registered: boolean
  readonly nack: JsonValue
  readonly conflicts: readonly string[]
}

/** Where the feed of a sidecar is open. */
export interface FeedPlace {
  readonly hub: string
  /** UUID, another one for each feed. */
  readonly feed: string
}

/** What a hub writes of one of its sidecars. */
export interface SidecarReport {
  readonly id: string
  readonly feed: string
  /** The newest revision that is durable there. */
  readonly rev: number
  readonly isSilent: boolean
  readonly nack: JsonValue
  readonly conflicts: readonly string[]
}

/** A hub as the database has it. */
export interface HubRow {
  readonly id: string
  readonly version: string
  readonly connected: number
  readonly seen_at: Milliseconds
}

export class SidecarLedger {
  readonly #database: Database
  readonly #log: HubLog

  constructor({ database, log }: Pick<LedgerOptions, 'database' | 'log'>) {
    this.#database = database
    this.#log = log
  }

  /**
   * Registers a sidecar whose feed opens at a hub. From then on no change is confirmed without it.
   * @throws GatewayError (rejects) `fleet_unavailable`
   */
  async register(
    { id, cluster, namespace, name }: SidecarName,
    terms: SidecarTerms,
    { hub, feed }: FeedPlace,
  ): Promise<void> {
    await this.#database.rows(
      `insert into sidecar (id, cluster, namespace, name, version, features, max_stale_seconds, acked_rev,
         last_seen_at, state, hub, feed)
       values ($1, $2, $3, $4, $5, $6, $7, $8, now(), 'connected', $9, $10)
       on conflict (id) do update set cluster = excluded.cluster, namespace = excluded.namespace,
         name = excluded.name, version = excluded.version, features = excluded.features,
         max_stale_seconds = excluded.max_stale_seconds, acked_rev = excluded.acked_rev,
         last_seen_at = now(), state = 'connected', hub = excluded.hub, feed = excluded.feed`,
      [
        ...[id, cluster, namespace, name, terms.version, terms.features],
        ...[terms.maxStaleSeconds, terms.rev, hub, feed],
      ],
    )
  }

  /**
   * Writes what sidecars of a hub have acknowledged, and notifies the other hubs. A crash of the
   * database may lose it, which claims less than is true.
   */
  async report(reports: readonly SidecarReport[], hub: string): Promise<void> {
    if (reports.length === 0) return
    await this.#database.transaction(async (queries) => {
      await queries.rows('set local synchronous_commit = off')
      await queries.rows(
        `update sidecar s set acked_rev = r.rev, last_seen_at = now(), nack = r.nack,
           conflicts = array(select jsonb_array_elements_text(r.conflicts)),
           state = case when r.silent then 'silent' else 'connected' end
         from jsonb_to_recordset($1::jsonb)
           as r(id text, feed uuid, rev bigint, silent boolean, nack jsonb, conflicts jsonb)
         where s.id = r.id and s.feed = r.feed`,
        [JSON.stringify(reports.map(({ isSilent, ...report }) => ({ ...report, silent: isSilent })))],
      )
      await queries.rows('select pg_notify($1, $2)', [ACKS_CHANNEL, hub])
    })
  }

  /** Writes that feeds were closed. A sidecar that has another one since is not touched. */
  async closed(feeds: readonly string[]): Promise<void> {
    await this.#database.rows(
      `update sidecar set state = 'silent', last_seen_at = now(), hub = null, feed = null
       where feed = any($1)`,
      [feeds],
    )
  }

  /** Writes that a sidecar uses no key of the hub before it connects again. */
  async left(id: string): Promise<void> {
    await this.#database.rows(
      `update sidecar set state = 'left', last_seen_at = now(), hub = null, feed = null
       where id = $1 and state <> 'gone'`,
      [id],
    )
  }

  /**
   * Declares a sidecar gone: an administrator states that it runs no more. Sealed.
   * @throws GatewayError (rejects) `not_found`, `conflict` while it answers, `fleet_unavailable`
   */
  async declareGone(id: string, actor: Actor): Promise<void> {
    await this.#log.change(async (queries) => {
      const [row] = await queries.rows<{ name: string; is_connected: boolean }>(
        `select name, state = 'connected' and exists (
           select from hub_state h where h.id = s.hub and h.seen_at > now() - $2 * interval '1 millisecond'
         ) as is_connected
         from sidecar s where id = $1 for update`,
        [id, HUB_SILENCE_MS],
      )
      if (row === undefined) throw new GatewayError('not_found', 'There is no sidecar with this id.')
      if (row.is_connected)
        throw new GatewayError(
          'conflict',
          'The sidecar is connected and uses keys of the hub; stop it, and declare it gone if it says no goodbye.',
        )
      await queries.rows(`update sidecar set state = 'gone', hub = null, feed = null where id = $1`, [id])
      await queries.rows('delete from limit_share where sidecar = $1', [id])
      await queries.rows('delete from limit_slot where sidecar = $1', [id])
      return {
        draft: { type: 'sidecar_gone', sidecar_id: id, sidecar_name: row.name, actor } as const,
        feed: [],
        result: null,
      }
    })
  }

  /** Returns all sidecars by name. */
  list(): Promise<SidecarRow[]> {
    return this.#database.rows<SidecarRow>(
      `with known as (
         select s.*, h.seen_at, ${CONTACT} as contact_at
         from sidecar s left join hub_state h on h.id = s.hub)
       select id, cluster, namespace, name, version, features, state, max_stale_seconds, acked_rev, hub, nack,
         conflicts, contact_at,
         coalesce(seen_at > now() - $1 * interval '1 millisecond', false) as is_open,
         state in ('connected', 'silent') and contact_at + max_stale_seconds * interval '1 second' > now()
           as is_registered
       from known order by name, id`,
      [HUB_SILENCE_MS],
    )
  }

  /** Returns the hubs that have written lately. */
  hubs(): Promise<HubRow[]> {
    return this.#database.rows<HubRow>(
      `select id, version, connected, seen_at from hub_state
       where seen_at > now() - $1 * interval '1 millisecond' order by id`,
      [HUB_LOST_MS],
    )
  }

  /**
   * Releases the sidecars of hubs that ended without a word. A hub that is not known counts from
   * now: the table of hubs is empty after a crash of the database, until each has written again.
   */
  async releaseLost(): Promise<void> {
    await this.#database.rows(
      `with lost as (delete from hub_state where seen_at < now() - $1 * interval '1 millisecond' returning id, seen_at)
       update sidecar s set state = 'silent', hub = null, feed = null,
         last_seen_at = greatest(s.last_seen_at, coalesce((select seen_at from lost where id = s.hub), now()))
       where s.hub is not null and (s.hub in (select id from lost) or
         (s.hub not in (select id from hub_state) and s.last_seen_at < now() - $1 * interval '1 millisecond'
           and pg_postmaster_start_time() < now() - $1 * interval '1 millisecond'))`,
      [HUB_LOST_MS],
    )
  }

  /**
   * Forgets Pods that are over: they said goodbye, were declared gone or refuse the keys of hubs by
   * themselves, and were not heard for a week. One that joined with a token may come back.
   */
  async forgetOld(): Promise<void> {
    await this.#database.rows(
      `delete from sidecar where public_key is null and hub is null
         and last_seen_at + (case when state = 'silent' then max_stale_seconds else 0 end) * interval '1 second'
           < now() - interval '7 days'`,
    )
  }
}
