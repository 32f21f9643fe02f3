// Package webhook is the way out to payment providers that speak JSON over HTTP.
//
// An intent becomes one POST to the configured URL. Its id is the idempotency key and stands in the body; its
// destination is data in the body, never an address that is dialed. Prepare makes body, content type, key and signature
// once and they are stored as they are, so that every retry carries the same bytes. Authorization and other configured
// headers are added at send time and never stored.
//
// # What an answer means
//
// The status decides, with the JSON object {"id", "reference", "status"} where one is sent. A status word is read
// without regard to case:
//
//	done      done, paid, settled, completed, complete, succeeded, success, ok
//	pending   pending, processing, in_progress, accepted, queued, created, received, new
//	failed    failed, declined, rejected, refused, canceled, cancelled
//
//	200, 201  our id, a done word or none          done
//	          our id, a pending word               accepted
//	          a failed word, our id or none        declined
//	          anything else                        unknown
//	202       a failed word, our id or none        declined
//	          anything else                        accepted, reference if one is given
//	other 2xx, 3xx                                 unknown
//	400       a JSON object that is no key clash   declined
//	          anything else (a gateway's page)     unknown
//	402       a failed word, our id or none        declined
//	          anything else                        unknown
//	422       unless the key clashes               declined
//	400, 422  the key was used with other bytes    unknown, and an alarm
//	401, 403, 404, 405, 406, 407, 410, 411, 413,
//	414, 415, 421, 426, 431                        not sent: the edge or our configuration, an alarm
//	429                                            not sent, calm
//	408, 409, 425, 499, 5xx, all others            unknown; calm where Retry-After asks for it
//	no answer, no byte written                     not sent
//	no answer, a byte written                      unknown
//
// A refused token must not fail thousands of intents, hence "not sent" for 401 and its like. An answer's body has to
// come whole to be believed: a 200 or 422 whose body is cut, late or above 1 MiB is unknown.
package webhook
