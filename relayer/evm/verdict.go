package evm

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/nsqrelayer/relayer/intents"
)

// ruling is a verdict with what goes with it. alarm is for a person.
type ruling struct {
	verdict     intents.Verdict
	ref         string
	after, calm time.Duration
	alarm       string
	class       class         // of the node's error
	busy        bool          // the node asked for fewer calls
	asked       time.Duration // … for so long; 0: it did not say
	broken      bool          // the node does not work as one should
}

const (
	configWait = time.Minute // refused by the edge: a person has to act first
	laterWait  = 5 * time.Second
	lookWait   = time.Second // the chain knows more than the answer says
	busyWait   = time.Second // told to slow down, not for how long
)

// judge is the table of the package comment.
func (a answer) judge(hash string) ruling {
	switch a.status {
	case 0:
		if a.wrote {
			return ruling{broken: true}
		}
		return ruling{verdict: intents.NotSent, broken: true}
	case 200, 400: // some gateways answer 400 with a JSON-RPC error
		return a.judgeReply(hash)
	case 401, 403, 404, 405, 413:
		return ruling{verdict: intents.NotSent, after: cmp.Or(a.retryAfter, configWait), alarm: "the endpoint refuses our calls", broken: true}
	case 429:
		var r reply
		if json.Unmarshal(a.body, &r) == nil && r.Error != nil {
			a.retryAfter = cmp.Or(a.retryAfter, backoff(r.Error.Data))
		}
		return a.busy()
	}
	return ruling{after: a.retryAfter, calm: a.retryAfter, asked: a.retryAfter, busy: a.retryAfter > 0, broken: true}
}

func (a answer) busy() ruling {
	wait := cmp.Or(a.retryAfter, busyWait)
	return ruling{verdict: intents.NotSent, after: wait, calm: wait, busy: true, asked: a.retryAfter}
}

// reply is a JSON-RPC answer.
type reply struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// backoff reads for how long an error asks for fewer calls: data.rate.backoff_seconds, as Infura writes it. 0: it does not
// say. At most intents.MostRetry.
func backoff(data json.RawMessage) time.Duration {
	var d struct {
		Rate struct {
			Seconds float64 `json:"backoff_seconds"`
		} `json:"rate"`
	}
	if json.Unmarshal(data, &d) != nil || !(d.Rate.Seconds > 0) {
		return 0
	}
	return time.Duration(min(d.Rate.Seconds, intents.MostRetry.Seconds()) * float64(time.Second))
}

// plain says whether the answer is, letter by letter, the one that most nodes give to bytes they take. It only saves
// reading it.
func (a answer) plain(hash string) bool {
	return a.whole && strings.TrimSuffix(string(a.body), "\n") == `{"jsonrpc":"2.0","id":`+strconv.FormatInt(a.id, 10)+`,"result":"`+hash+`"}`
}

func (a answer) judgeReply(hash string) ruling {
	if a.plain(hash) {
		return ruling{verdict: intents.Accepted, ref: hash}
	}
	var r reply
	if !a.whole || json.Unmarshal(a.body, &r) != nil {
		return ruling{broken: true}
	}
	hasResult := len(r.Result) > 0 && string(r.Result) != "null"
	switch {
	case string(r.ID) != strconv.FormatInt(a.id, 10):
		return ruling{alarm: "the node answers another call", broken: true}
	case hasResult && r.Error != nil:
		return ruling{alarm: "the node answers with a result and an error", broken: true}
	case r.Error != nil:
		a.retryAfter = cmp.Or(a.retryAfter, backoff(r.Error.Data))
		return a.judgeError(r.Error.Code, r.Error.Message, hash)
	case !hasResult:
		return ruling{broken: true}
	}
	var got string
	if json.Unmarshal(r.Result, &got) != nil || !strings.EqualFold(got, hash) {
		return ruling{after: lookWait, alarm: "the node names another hash", broken: true}
	}
	return ruling{verdict: intents.Accepted, ref: hash}
}

func (a answer) judgeError(code int, message, hash string) ruling {
	c := classify(code, message)
	switch c {
	case known:
		return ruling{verdict: intents.Accepted, ref: hash, class: c}
	case taken:
		return ruling{after: lookWait, class: c}
	case later:
		return ruling{verdict: intents.NotSent, after: cmp.Or(a.retryAfter, laterWait), class: c}
	case limited:
		return a.busy()
	case invalid:
		return ruling{alarm: "the node takes our bytes for invalid", class: c}
	}
	return ruling{}
}
