// The tables of limits over a fleet; a part of the first version of the schema.

export const LIMIT_TABLES = `-- A grant locks the row of its limit and subject. The amount is that of the limit.
create table limit_subject (
  count text collate "C" not null,
  subject text collate "C" not null,
  window_ms bigint not null,
  amount bigint not null,
  primary key (count, subject, window_ms)
);

-- What a sidecar has of a limit in a bucket of its window, leases that live included.
create table limit_bucket (
  count text collate "C" not null,
  subject text collate "C" not null,
  window_ms bigint not null,
  bucket bigint not null,
  sidecar text collate "C" not null,
  amount bigint not null check (amount >= 0),
  primary key (count, subject, window_ms, bucket, sidecar)
) with (fillfactor = 50);

-- What a sidecar may use of a limit when it hears nothing.
create table limit_share (
  count text collate "C" not null,
  subject text collate "C" not null,
  window_ms bigint not null,
  sidecar text collate "C" not null,
  share bigint not null check (share >= 0),
  seen_at timestamptz not null,
  primary key (count, subject, window_ms, sidecar)
);

-- How many calls a sidecar may run at a time.
create table limit_slot (
  count text collate "C" not null,
  subject text collate "C" not null,
  sidecar text collate "C" not null,
  size bigint not null check (size >= 0),
  seen_at timestamptz not null,
  primary key (count, subject, sidecar)
) with (fillfactor = 50);

-- The newest request of a sidecar: one that is older and comes late would undo what it reports.
create table limit_request (
  sidecar text collate "C" primary key,
  request bigint not null,
  seen_at timestamptz not null
) with (fillfactor = 50);`
