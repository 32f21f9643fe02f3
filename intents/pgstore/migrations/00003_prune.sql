-- +goose Up

-- Nobody has written a tombstone before this step: neither takes time.
alter table tombstones add column ref text;
-- A process that finds a row missing which it had committed asks whether it was pruned. Keys are pruned in their order, so
-- the index only grows at its end.
create index tombstones_key on tombstones (key);

comment on column tombstones.ref is 'transaction hash or provider id';
comment on column tombstones.hash is 'SHA-256 of the content; see intents.Hash';

-- With the server's own share (a fifth) millions of dead rows wait on a large table after a prune, and one that is only
-- added to is frozen in rare large steps.
alter table intent_events set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
alter table attempts set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
alter table slots set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
alter table entries set (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
alter table tombstones set (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
alter table accounts set (autovacuum_vacuum_scale_factor = 0.05);

-- +goose Down
alter table accounts reset (autovacuum_vacuum_scale_factor);
alter table entries reset (autovacuum_vacuum_insert_scale_factor, autovacuum_analyze_scale_factor);
alter table slots reset (autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor);
alter table attempts reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor);
alter table intent_events reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor);
alter table tombstones reset (autovacuum_vacuum_insert_scale_factor, autovacuum_analyze_scale_factor);
drop index tombstones_key;
alter table tombstones drop column ref;
