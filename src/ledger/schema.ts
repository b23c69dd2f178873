// The tables of a fleet, by version. `sidegate hub migrate` runs what a database does not have yet,
// as its owner; the hub itself runs as a role that may not change them.

import { LIMIT_TABLES } from './limit-tables.ts'
import { USAGE_TABLES } from './usage-tables.ts'

/** Schema of all tables. It is on the search path of each role. */
export const SCHEMA = 'sidegate'
/** The role of hubs. */
export const HUB_ROLE = 'sidegate_hub'
/** The role of analysts: entries, and neither exchanges nor end users. */
export const READ_ROLE = 'sidegate_read'

const VERSION_1 = `
create table fleet_head (
  single boolean primary key default true check (single),
  rev bigint not null,
  epoch uuid not null
);
insert into fleet_head (rev, epoch) values (0, gen_random_uuid());

create table change (
  rev bigint primary key,
  kind text not null,
  id text not null,
  op text not null check (op in ('put', 'del')),
  body jsonb,
  seq bigint not null
);

create table api_key (
  id text primary key,
  sha256 bytea not null unique check (length(sha256) = 32),
  name text not null,
  prefix text,
  line text not null,
  replaces text,
  terms jsonb not null,
  namespaces text[],
  created_at timestamptz not null,
  revoked_at timestamptz,
  last_used_at timestamptz,
  rev bigint not null
);
create index on api_key (created_at, id);
create index on api_key (rev);

create table sidecar (
  id text primary key,
  cluster text,
  namespace text not null,
  name text not null,
  version text not null,
  features text[] not null,
  log_key text,
  public_key text,
  max_stale_seconds integer not null,
  acked_rev bigint not null,
  last_seen_at timestamptz not null,
  state text not null check (state in ('connected', 'silent', 'left', 'gone')),
  -- The hub at which its feed is open, and the feed; both null without one.
  hub uuid,
  feed uuid,
  nack jsonb not null default '[]',
  conflicts text[] not null default '{}'
) with (fillfactor = 50);

create unlogged table hub_state (
  id uuid primary key,
  version text not null,
  connected integer not null,
  seen_at timestamptz not null
);

create table join_token (
  sha256 bytea primary key check (length(sha256) = 32),
  name text not null,
  expires_at timestamptz not null,
  used_at timestamptz
);

create table session (
  hash bytea primary key check (length(hash) = 32),
  name text not null,
  role text not null,
  via text not null,
  binding text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);

create table secret (
  name text primary key,
  value bytea not null
);

create table log_head (
  log_id uuid primary key,
  sidecar text,
  -- Its name at the beginning of the log: sidecars are forgotten.
  sidecar_name text,
  seq bigint not null,
  hash bytea not null check (length(hash) = 32),
  size bigint not null check (size = seq + 1),
  frontier bytea[] not null,
  state text not null check (state in ('open', 'closed', 'cut', 'forked')),
  first_seq bigint not null,
  -- Edge of the tree before first_seq, the first entry that was ever stored.
  first_frontier bytea[] not null default '{}',
  last_at timestamptz not null
);
-- The hubs share one log.
create unique index on log_head ((sidecar is null)) where sidecar is null;

-- Entries of each log that the log of the hubs has witnessed.
create table witnessed (
  log_id uuid primary key,
  size bigint not null
);

create table checkpoint (
  log_id uuid not null,
  size bigint not null,
  root bytea not null check (length(root) = 32),
  note text not null,
  primary key (log_id, size)
);

create table entry (
  received_at timestamptz not null,
  log_id uuid not null,
  seq bigint not null,
  hash bytea not null check (hash = sha256(convert_to(E'sidegate-audit/v1/entry\\n', 'UTF8') || body)),
  prev bytea,
  created_at timestamptz not null,
  type text not null,
  call_id text,
  key_id text,
  model text,
  outcome text,
  status integer,
  prompt_tokens bigint,
  completion_tokens bigint,
  cost bigint,
  blocked boolean,
  refused boolean,
  pii boolean,
  pii_detections integer,
  rule_triggers integer,
  labels jsonb,
  body bytea not null
) partition by range (received_at);
create unique index on entry (log_id, seq, received_at);
create index on entry (created_at, log_id, seq);
create index on entry (key_id, created_at);
create index on entry (call_id) where call_id is not null;
create index on entry (created_at, log_id, seq) where blocked or refused or pii or rule_triggers > 0;
create index on entry (created_at, log_id, seq) where type <> 'request';
create index on entry (log_id, type, seq) where type <> 'request';
create index on entry using brin (received_at);

-- Apart from its entry, so that it can be erased; a row has the time of its entry.
create table exchange (
  received_at timestamptz not null,
  log_id uuid not null,
  seq bigint not null,
  labels jsonb,
  bytes bytea not null
) partition by range (received_at);
create unique index on exchange (log_id, seq, received_at);

create table entry_user (
  log_id uuid not null,
  seq bigint not null,
  hash bytea not null check (length(hash) = 16),
  clear text,
  primary key (log_id, seq)
);
create index on entry_user (hash, log_id, seq);

-- Roots of complete subtrees of 256 leaves (level 1), of 256 of those (level 2) and so on, 256 in a
-- row (C2SP tlog-tiles). Level 0 is the hashes of the entries.
create table tile (
  log_id uuid not null,
  level smallint not null check (level > 0),
  index bigint not null,
  hashes bytea not null check (length(hashes) between 32 and 8192 and length(hashes) % 32 = 0),
  primary key (log_id, level, index)
);

-- What a sidecar sent that does not fit what is stored.
create table conflict (
  at timestamptz not null,
  sidecar text not null,
  log_id uuid not null,
  seq bigint,
  kind text not null,
  stored bytea,
  sent bytea,
  body bytea
);
create index on conflict (log_id, at);
create index on conflict (sidecar, at);

-- The rules of all sidecars. The type json keeps the order of members, which hashes depend on.
create table rule (
  id text primary key,
  source text not null check (source in ('file', 'api')),
  name_key text not null,
  position integer not null,
  declaration json not null,
  -- Null for all.
  namespaces text[],
  path text,
  line integer,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  rev bigint not null
);
create unique index on rule (source, name_key);

create table override (
  rule_id text primary key,
  rule_name text not null,
  enabled boolean not null,
  reason text not null,
  expires_at timestamptz,
  declared_hash text not null,
  created_at timestamptz not null,
  rev bigint not null
);

create table price_book (
  single boolean primary key default true check (single),
  revision text,
  prices text not null,
  unknown_price text not null,
  rev bigint not null
);

-- An order to erase exchanges, here and at every sidecar. It is open until each log has passed it.
create table erase_order (
  rev bigint primary key,
  id uuid not null unique,
  at timestamptz not null,
  actor text not null,
  selection jsonb not null,
  -- Whether the rows of this database are erased, and when a hub last worked on it.
  swept boolean not null default false,
  worked_at timestamptz not null,
  done boolean not null default false
);
create index on erase_order (rev) where not done;
create table erase_passed (
  rev bigint not null references erase_order,
  log_id uuid not null,
  primary key (rev, log_id)
);

-- Where months were dropped, or entries were pruned before they were sent: the first entry after it,
-- the hash before that and the edge of the tree.
create table log_cut (
  log_id uuid not null,
  first_seq bigint not null,
  prev bytea not null check (length(prev) = 32),
  frontier bytea[] not null,
  primary key (log_id, first_seq)
);

-- Where the hub will cut each log with entries in the oldest month, for drop_month.
create table cut_draft (like log_cut);
alter table cut_draft add primary key (log_id);

-- How far the exchanges of a time of audit.retain were worked off, by time of receipt.
create table expiry (
  name text primary key,
  upto timestamptz not null
);

${LIMIT_TABLES}

${USAGE_TABLES}
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'entries are only appended' using errcode = 'insufficient_privilege';
end $$;

-- Truncate triggers are not inherited by partitions, so that each gets its own.
create function add_month(month date) returns void language plpgsql security definer
set search_path = ${SCHEMA}, pg_temp as $$
declare
  starts timestamptz := month::timestamp at time zone 'UTC';
  ends timestamptz := (month + interval '1 month')::timestamp at time zone 'UTC';
  suffix text := to_char(month, 'YYYY_MM');
begin
  if to_regclass('entry_' || suffix) is not null then return; end if;
  execute format('create table %I partition of entry for values from (%L) to (%L)',
    'entry_' || suffix, starts, ends);
  execute format('create trigger keep before truncate on %I execute function refuse_change()',
    'entry_' || suffix);
  execute format('create table %I partition of exchange for values from (%L) to (%L)',
    'exchange_' || suffix, starts, ends);
end $$;

-- Makes the partitions of this month and the two after it.
create function add_months() returns void language plpgsql security definer
set search_path = ${SCHEMA}, pg_temp as $$
declare
  month date := date_trunc('month', now() at time zone 'UTC');
begin
  perform pg_advisory_xact_lock(7310001);
  for later in 0..2 loop
    perform add_month((month + later * interval '1 month')::date);
  end loop;
end $$;
select add_months();

-- Drops the oldest month of entries and exchanges. Every log with entries in it must have a row in
-- cut_draft that fits its last one, which becomes its anchor in log_cut.
create function drop_month(month date, retain_days integer) returns void language plpgsql
security definer set search_path = ${SCHEMA}, pg_temp as $$
declare
  suffix text := to_char(month, 'YYYY_MM');
  oldest text;
  wrong uuid;
begin
  if month is null or retain_days is null or retain_days < 1 or month <> date_trunc('month', month)::date then
    raise exception 'a month and a number of days are needed' using errcode = 'invalid_parameter_value';
  end if;
  if month >= (date_trunc('month', now() at time zone 'UTC') - interval '1 month')::date
    or (month + interval '1 month')::timestamp at time zone 'UTC' + retain_days * interval '1 day' > now() then
    raise exception 'the month % is too young', suffix using errcode = 'insufficient_privilege';
  end if;
  -- What waits for a long reading stops all hubs meanwhile.
  perform set_config('lock_timeout', '2s', true);
  perform pg_advisory_xact_lock(7310001);
  select min(c.relname) into oldest from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'entry'::regclass;
  if oldest is distinct from 'entry_' || suffix then
    raise exception 'the month % is not the oldest', suffix using errcode = 'invalid_parameter_value';
  end if;
  -- In this order, as statements take them.
  lock table entry, exchange in access exclusive mode;
  create temporary table cut on commit drop as select * from cut_draft with no data;
  execute format($query$
    with recursive log as (
      (select log_id from %1$I order by log_id limit 1)
      union all
      select (select e.log_id from %1$I e where e.log_id > log.log_id order by e.log_id limit 1)
      from log where log.log_id is not null)
    insert into cut (log_id, first_seq, prev, frontier)
    select log.log_id, last.seq + 1, last.hash, d.frontier from log
      cross join lateral (
        select seq, hash from %1$I e where e.log_id = log.log_id order by seq desc limit 1) last
      left join cut_draft d on d.log_id = log.log_id and d.first_seq = last.seq + 1 and d.prev = last.hash
    where log.log_id is not null$query$, oldest);
  select log_id into wrong from cut
    where coalesce(array_length(frontier, 1), 0) <> length(replace(first_seq::bit(64)::text, '0', ''))
      or exists (select from unnest(frontier) node where length(node) is distinct from 32)
    limit 1;
  if wrong is not null then
    raise exception 'the cut of the log % is missing or wrong', wrong using errcode = 'invalid_parameter_value';
  end if;
  select cut.log_id into wrong from cut
    cross join lateral (
      select seq from entry e where e.log_id = cut.log_id and e.received_at >=
        (month + interval '1 month')::timestamp at time zone 'UTC' order by seq limit 1) next
    where next.seq < cut.first_seq limit 1;
  if wrong is not null then
    raise exception 'the log % has earlier entries in a later month', wrong
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  insert into log_cut select * from cut on conflict do nothing;
  delete from entry_user u using cut where u.log_id = cut.log_id and u.seq < cut.first_seq;
  delete from tile t using cut where t.log_id = cut.log_id
    and (t.index + 1) * (256::numeric ^ (t.level + 1)) <= cut.first_seq;
  execute format('alter table entry detach partition %I', oldest);
  execute format('alter table exchange detach partition %I', 'exchange_' || suffix);
  execute format('drop table %I, %I', oldest, 'exchange_' || suffix);
  delete from cut_draft;
  update rollup_state
    set dropped_before = (month + interval '1 month')::timestamp at time zone 'UTC';
end $$;

create trigger keep before truncate on entry execute function refuse_change();
create trigger keep_rows before update or delete on entry for each row execute function refuse_change();

-- Keeps the edge of a log after entries that no hub gets: none of them, and none after, is stored.
create function note_gap(of_log uuid, next_seq bigint, hash_before bytea, edge bytea[]) returns void
language plpgsql security definer set search_path = ${SCHEMA}, pg_temp as $$
begin
  if exists (select from entry where log_id = of_log and seq >= next_seq - 1) then
    raise exception 'there is no gap before entry %', next_seq using errcode = 'invalid_parameter_value';
  end if;
  insert into log_cut values (of_log, next_seq, hash_before, edge);
end $$;

revoke execute on function add_month, add_months, drop_month, note_gap from public;
grant usage on schema ${SCHEMA} to ${HUB_ROLE};
grant execute on function add_months, drop_month, note_gap to ${HUB_ROLE};
grant select on all tables in schema ${SCHEMA} to ${HUB_ROLE};
grant insert on entry, exchange, entry_user, checkpoint, conflict, change, erase_passed to ${HUB_ROLE};
grant update (rev) on fleet_head to ${HUB_ROLE};
grant insert, update on api_key, sidecar, join_token, log_head, secret, tile, witnessed, erase_order to ${HUB_ROLE};
grant delete on sidecar, exchange, entry_user, checkpoint to ${HUB_ROLE};
grant insert, update, delete on hub_state, session, cut_draft, rule, override, price_book to ${HUB_ROLE};
grant insert, update on expiry to ${HUB_ROLE};
grant update (current, visible) on rollup_state to ${HUB_ROLE};
grant insert, update, delete on combination, rollup_day, rollup_member, usage_hour, usage_day, usage_minute
  to ${HUB_ROLE};
grant insert, update, delete on limit_subject, limit_bucket, limit_share, limit_slot, limit_request
  to ${HUB_ROLE};
grant usage on schema ${SCHEMA} to ${READ_ROLE};
grant select on entry, log_head, checkpoint, tile, log_cut to ${READ_ROLE};
grant select (at, sidecar, log_id, seq, kind) on conflict to ${READ_ROLE};
grant select (id, cluster, namespace, name, version, state) on sidecar to ${READ_ROLE};
`

const VERSION_2 = `
-- Whose an answer is that a provider keeps. Its id is kept as a hash alone.
create table stored_answer (
  id_hash bytea primary key check (length(id_hash) = 32),
  key_line text not null,
  upstream text not null,
  -- Null for an answer that was removed.
  body jsonb,
  expires_at timestamptz not null,
  -- The call that may count the tokens of an answer which no entry has counted.
  claimed_by text,
  claimed_at timestamptz
);
create index on stored_answer (expires_at);
grant select, insert, update, delete on stored_answer to ${HUB_ROLE};

-- The newest full check of all logs: at most one row.
create table log_check (
  one boolean primary key default true check (one),
  run uuid not null,
  -- seen_at: when the hub that runs it wrote last.
  started_at timestamptz not null, seen_at timestamptz not null, finished_at timestamptz,
  progress double precision not null default 0, is_cancelled boolean not null default false,
  verdict json, failure text,
  -- Logs with findings in the newest verdict, which another run keeps until it has one.
  damaged integer not null default 0
);
grant select, insert, update on log_check to ${HUB_ROLE};
`

/** What each version adds to the one before it. */
export const VERSIONS: readonly string[] = [VERSION_1, VERSION_2]
