-- +goose Up

-- From when a process finds that the database lacks what it had committed until a person has recovered, nothing is claimed.
create table recoveries (
  key bigint not null default nextval('relayer_keys') constraint recoveries_key primary key,
  noticed_at timestamptz not null default clock_timestamp(),
  noticed_by text not null,
  missing text not null,
  since timestamptz,
  ended_at timestamptz,
  ended_by text,
  reviewed bigint not null default 0
);

create unique index recoveries_open on recoveries ((true)) where ended_at is null;

comment on table recoveries is 'losses of committed data: a promoted standby that lacked it, a restored backup';
comment on column recoveries.missing is 'what was not there any more';
comment on column recoveries.since is 'commits after it may be missing, says who recovered';
comment on column recoveries.reviewed is 'intents that went to a person';

-- A server that takes over from another is left alone for some seconds, so that every process can look what it lacks.
create table servers (
  id text collate "C" not null constraint servers_key primary key,
  seen_at timestamptz not null
);

-- Every claim looks here, and committers plan without sequential scans.
create index servers_seen on servers (seen_at);

comment on column servers.id is 'system identifier and timeline: a promotion or a restore makes another';
comment on column servers.seen_at is 'when a process first met it; the first of all was always there';

-- +goose Down
drop table servers, recoveries;
