package api_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/nsqrelayer/relayer/internal/api"
)

const specFile = "../../docs/openapi.json"

// The description that is committed is the one that is served. RELAYER_WRITE_DOCS=1 writes it.
func TestOpenAPIIsCommitted(t *testing.T) {
	t.Parallel()
	want, err := api.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("RELAYER_WRITE_DOCS") != "" {
		if err := os.WriteFile(specFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(specFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is not what is served: RELAYER_WRITE_DOCS=1 go test ./internal/api", specFile)
	}
	if got := open(t).get("/openapi.json", "Authorization", "Bearer none"); got.text != string(want) {
		t.Errorf("served: %.200s", got.text)
	}
}
