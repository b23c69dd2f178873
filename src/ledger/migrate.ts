// Creates and upgrades the tables of a fleet as the owner of the database: forward only, one
// migration at a time.

import { GatewayError } from '../core/errors.ts'
import { onlyRow, type Queries, withDatabase } from './database.ts'
import { HUB_ROLE, READ_ROLE, SCHEMA, VERSIONS } from './schema.ts'

/** Number of the advisory lock; another migration waits for it. */
const LOCK = 7_310_000
/** Oldest server: `server_version_num` of PostgreSQL 14. */
const MINIMUM_SERVER = 140_000
/** PostgreSQL Appendix A. */
const INSUFFICIENT_PRIVILEGE = '42501'

/** The version of the tables, before and after a migration. */
export interface Migration {
  readonly from: number
  readonly to: number
}

/**
 * Brings the tables to the newest version.
 * @param url of the owner, who may create the schema and the role of hubs
 * @throws Error (rejects) with the remedy for a server or tables that are too old or too new; the
 * server's error; GatewayError `fleet_unavailable`
 */
export const migrate = (url: string): Promise<Migration> =>
  asOwner(() => withDatabase(url, (database) => database.transaction(migrateIn)))

async function migrateIn(queries: Queries): Promise<Migration> {
  await queries.rows(`select pg_advisory_xact_lock(${LOCK})`)
  await assertServer(queries)
  await prepare(queries)
  const from = await versionIn(queries)
  assertKnown(from)
  for (const [index, statements] of VERSIONS.entries()) {
    if (index < from) continue
    await queries.rows(statements)
    await queries.rows('insert into schema_version (version, at) values ($1, now())', [index + 1])
  }
  return { from, to: VERSIONS.length }
}

/**
 * Begins a new epoch: the word of the operator that a backup was restored.
 * @throws as `migrate`
 */
export const beginEpoch = (url: string): Promise<string> =>
  asOwner(() =>
    withDatabase(url, async (database) => {
      const statement = `update ${SCHEMA}.fleet_head set epoch = gen_random_uuid() returning epoch`
      return (await onlyRow(database.rows<{ epoch: string }>(statement))).epoch
    }),
  )

/** @throws Error (rejects) with the remedy when the role of the URL may not do `work` */
async function asOwner<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error
    const { message } = error as Error
    const remedy = 'give `sidegate hub migrate` the URL of the owner of the database'
    throw new Error(`the role of database.url may not change the tables (${message}); ${remedy}`, {
      cause: error,
    })
  }
}

/**
 * Checks that a hub can work with the tables.
 * @throws GatewayError (rejects) `fleet_unavailable` that names the command to run
 */
export async function assertMigrated(queries: Queries): Promise<void> {
  const [row] = await queries.rows<{ exists: boolean }>(
    `select to_regclass('${SCHEMA}.schema_version') is not null as exists`,
  )
  const version = row?.exists === true ? await versionIn(queries) : 0
  assertKnown(version)
  if (version === VERSIONS.length) return
  throw new GatewayError(
    'fleet_unavailable',
    `The tables have version ${version}, and this hub needs ${VERSIONS.length}; run \`sidegate hub migrate\`.`,
  )
}

function assertKnown(version: number): void {
  if (version <= VERSIONS.length) return
  throw new GatewayError(
    'fleet_unavailable',
    `The tables have version ${version}, and this hub knows ${VERSIONS.length}; upgrade the hub.`,
  )
}

async function assertServer(queries: Queries): Promise<void> {
  const { number } = await onlyRow(
    queries.rows<{ number: number }>("select current_setting('server_version_num')::integer as number"),
  )
  if (number < MINIMUM_SERVER) throw new Error('PostgreSQL 14 or newer is needed; upgrade the server')
}

/** Makes the schema, the roles and their search paths. */
async function prepare(queries: Queries): Promise<void> {
  await queries.rows(`
    create schema if not exists ${SCHEMA};
    set local search_path = ${SCHEMA}, pg_temp;
    create table if not exists schema_version (version integer primary key, at timestamptz not null);
    do $$
    begin
      if not exists (select from pg_roles where rolname = '${HUB_ROLE}') then
        create role ${HUB_ROLE} login;
      end if;
      if not exists (select from pg_roles where rolname = '${READ_ROLE}') then
        create role ${READ_ROLE} nologin;
      end if;
      execute format('alter role ${HUB_ROLE} in database %I set search_path = ${SCHEMA}', current_database());
      execute format('alter role %I in database %I set search_path = ${SCHEMA}, public',
        current_user, current_database());
    end $$`)
}

const versionIn = async (queries: Queries): Promise<number> =>
  (
    await onlyRow(
      queries.rows<{ version: number }>(
        `select coalesce(max(version), 0) as version from ${SCHEMA}.schema_version`,
      ),
    )
  ).version
