-- +goose NO TRANSACTION
-- +goose Up

-- What failed, was canceled or is in review has a reason, and what is in review is due as well. On the plain path there is
-- none, so that these indexes cost nothing there; changed_at, by which reviews are ordered, must not be in one, since every
-- version changes it. Built beside the traffic; one that was begun and given up is built anew.
drop index concurrently if exists intents_reason;
create index concurrently intents_reason on intents (key, reason) where reason is not null;
drop index concurrently if exists intents_review;
create index concurrently intents_review on intents (key) where reason is not null and due_at is not null;
-- Rows lie in the order in which they were created: some summaries of pages bound what a list since a time has to read.
drop index concurrently if exists intents_created;
create index concurrently intents_created on intents using brin (created_at) with (pages_per_range = 64, autosummarize = on);

-- +goose Down
drop index concurrently if exists intents_created;
drop index concurrently if exists intents_review;
drop index concurrently if exists intents_reason;
