package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nsqrelayer/relayer/intents"
)

// Problem is an error as it is answered (RFC 9457).
type Problem struct {
	Type     string `json:"type" doc:"Where the code is explained" format:"uri"`
	Title    string `json:"title" doc:"What the code means"`
	Status   int    `json:"status"`
	Detail   string `json:"detail" doc:"What went wrong this time, in words"`
	Instance string `json:"instance,omitempty" doc:"The path that was asked for"`
	Code     string `json:"code" doc:"What went wrong, in a word that does not change"`
	Errors   []Flaw `json:"errors,omitempty" doc:"What is wrong with which field"`

	Way string             `json:"way,omitempty" doc:"Of a refused order: cancel uses the slot for nothing first; unconfirmed and may_pay_twice are fields of the order that insist"`
	By  *intents.EventView `json:"by,omitempty" doc:"The change that came first, and whose it was"`
	Hdr http.Header        `json:"-"`
}

// Flaw is what is wrong with one field.
type Flaw struct {
	Location string `json:"location" doc:"Such as body.amount, query.limit, header.Idempotency-Key"`
	Message  string `json:"message"`
}

// Error gives the detail.
func (p *Problem) Error() string { return p.Detail }

// GetStatus makes it an error that huma answers as it is.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders are sent with it.
func (p *Problem) GetHeaders() http.Header { return p.Hdr }

// ContentType is that of problems.
func (*Problem) ContentType(string) string { return "application/problem+json" }

// typeBase is where the codes are explained.
const typeBase = "https://github.com/nsqrelayer/relayer/blob/main/docs/api.md#"

func newProblem(c code, detail string) *Problem {
	k := kinds[c]
	p := &Problem{Type: typeBase + string(c), Title: k.title, Status: k.status, Detail: detail, Code: string(c), Hdr: http.Header{}}
	if k.retry > 0 {
		p.Hdr.Set("Retry-After", strconv.Itoa(k.retry))
	}
	if k.status == http.StatusUnauthorized {
		p.Hdr.Set("WWW-Authenticate", `Bearer realm="relayer"`)
	}
	return p
}

// send answers a problem outside of huma.
func (a *api) send(w http.ResponseWriter, r *http.Request, p *Problem) {
	maps.Copy(w.Header(), p.Hdr)
	w.Header().Set("Content-Type", p.ContentType(""))
	p.Instance = r.URL.Path
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // who asked has gone
}

// transform makes huma's own errors, those of reading a request, problems as all others.
func (a *api) transform(ctx huma.Context, _ string, v any) (any, error) {
	path := ctx.URL().Path
	switch e := v.(type) {
	case *Problem:
		e.Instance = path
	case *huma.ErrorModel:
		p := newProblem(ofStatus(e.Status), e.Detail)
		p.Instance, p.Status = path, e.Status
		for _, d := range e.Errors {
			p.Errors = append(p.Errors, Flaw{d.Location, a.cfg.Redact(d.Message)})
			p.Detail = cmp.Or(p.Errors[0].Location, "request") + ": " + p.Errors[0].Message
		}
		return p, nil
	}
	return v, nil
}

// ofStatus is the code of what huma finds wrong with a request.
func ofStatus(status int) code {
	switch status {
	case http.StatusUnprocessableEntity:
		return codeInvalid
	case http.StatusRequestEntityTooLarge:
		return codeTooLarge
	case http.StatusInternalServerError:
		return codeInternal
	}
	return codeBadRequest
}
