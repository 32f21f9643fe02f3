-- +goose Up

-- Nobody has written a tombstone before this step: neither takes time.
alter table tombstones add column ref text;
-- A process that finds a row missing which it had committed asks whether it was pruned. Keys are pruned in their order, so
-- the index only grows at its end.
create index tombstones_key on tombstones (key);

comment on column tombstones.ref is 'transaction hash or provider id';
comment on column tombstones.hash is 'SHA-256 of the content; see intents.Hash';

-- +goose Down
drop index tombstones_key;
alter table tombstones drop column ref;
