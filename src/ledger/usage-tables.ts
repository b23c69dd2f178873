// The tables of usage sums over a fleet; a part of the first version of the schema.

export const USAGE_TABLES = `-- Sums are of generations: a count of the whole log writes another one, and then shows it.
create table rollup_state (
  single boolean primary key default true check (single),
  -- The generation into which calls are counted that arrive, and those that reports sum.
  current integer not null,
  visible integer[] not null,
  -- The end of the newest month that was dropped: the log has not all calls before it.
  dropped_before timestamptz
);
insert into rollup_state (current, visible) values (1, '{1}');

-- What calls are counted by. A row of an erased user has no hash, so that no call finds it.
create table combination (
  id bigint generated always as identity primary key,
  hash bytea unique check (length(hash) = 32),
  part text not null check (part in ('call', 'tool', 'run', 'sidecar')),
  key_id text not null,
  key_name text not null,
  model text not null,
  api text not null,
  upstream text,
  labels jsonb not null,
  user_hash bytea check (length(user_hash) = 16),
  "user" text,
  tool text,
  run text,
  sidecar text,
  last_day integer not null
);
create index on combination (user_hash) where user_hash is not null;
create index on combination (run) where run is not null;
create index on combination (last_day);

-- How many values and combinations a UTC day has, up to the bounds, and which.
create table rollup_day (
  day integer primary key,
  counts jsonb not null
) with (fillfactor = 50);
create table rollup_member (
  day integer not null,
  name bytea not null,
  -- Null for a value.
  combination bigint references combination on delete cascade,
  primary key (day, name)
);
create index on rollup_member (combination) where combination is not null;

-- Hours, days and minutes are numbered from the epoch; sums are in the order of their positions. A
-- transaction has a slot of its own above 0, or it would wait for the row of another one. The rows
-- of slot 0 are those of past hours that their days have.
create table usage_hour (
  hour integer not null,
  slot smallint not null,
  generation integer not null,
  combination bigint not null,
  sums bigint[] not null,
  primary key (hour, slot, generation, combination)
) with (fillfactor = 50);
create index on usage_hour (hour) where slot > 0;
create table usage_day (
  day integer not null,
  generation integer not null,
  combination bigint not null,
  sums bigint[] not null,
  primary key (day, generation, combination)
);
create table usage_minute (
  minute integer not null,
  slot smallint not null,
  sums bigint[] not null,
  primary key (minute, slot)
) with (fillfactor = 50);

-- Adds the sums of a release that has more of them, too. A sum stays at the largest number.
create function add_sums(one bigint[], other bigint[]) returns bigint[] language sql immutable as $$
  select array_agg(least(coalesce(a, 0)::numeric + coalesce(b, 0), 9223372036854775807)::bigint order by place)
  from unnest(one, other) with ordinality as s(a, b, place)
$$;
create aggregate sum_sums(bigint[]) (sfunc = add_sums, stype = bigint[], initcond = '{}');`
