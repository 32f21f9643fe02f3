package rpcproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// reply is one JSON-RPC answer.
type reply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

func faulty(each []rule) bool {
	return slices.ContainsFunc(each, func(r rule) bool { return r.fault != "" })
}

// distort makes the answers that the faults want of those the node gave, in the order of the calls.
func distort(q question, each []rule, answer []byte) ([]byte, error) {
	if !q.batch && !bytes.HasPrefix(answer, []byte("[")) {
		answer = slices.Concat([]byte("["), answer, []byte("]"))
	}
	var got []reply
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, fmt.Errorf("answer of the node: %w", err)
	}
	byID := make(map[string]reply, len(got))
	for _, r := range got {
		byID[string(r.ID)] = r
	}
	lies := make([]reply, len(q.calls))
	for i, c := range q.calls {
		r, ok := byID[string(c.ID)]
		if !ok {
			r = reply{Version: "2.0", ID: c.ID}
		}
		lies[i] = r.as(each[i].fault)
	}
	if q.batch {
		return json.Marshal(lies)
	}
	return json.Marshal(lies[0])
}

// as is the answer with a fault in it.
func (r reply) as(f fault) reply {
	null := json.RawMessage("null")
	switch {
	case f == json429:
		r.Result, r.Error = nil, json.RawMessage(`{"code":429,"message":"your app has exceeded its compute units per second capacity"}`)
	case f == wrongHash && len(r.Result) > 0:
		r.Result, _ = json.Marshal("0x" + strings.Repeat("ab", 32))
	case (f == nullReceipt || f == nullTx) && r.Error == nil:
		r.Result = null
	}
	return r
}
