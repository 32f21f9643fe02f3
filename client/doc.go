// Package client is for publishers: whoever wants payments made. There are three ways to hand an intent over.
//
//   - [Client.Create] asks the relayer's HTTP API, which answers when the intent is stored. Asked again with the same id it
//     creates nothing twice, so that it repeats what may have failed by itself.
//   - [Publish] puts a whole intent into NSQ, for routes that accept such ("full"). It is stored when a worker takes it; until
//     then it is in nsqd's memory, and dies with it.
//   - [InsertTx] stores the intent in the caller's own transaction on the relayer's database: together with what it is about,
//     or not at all. The sweeper publishes it after the commit.
//
// In each the id says which payment it is: whoever does not know whether an intent arrived hands it over again with the same
// id and the same content. Other content under a known id is refused, for ever.
package client
