package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nsqrelayer/relayer/internal/devstack/chain"
)

// settings are those of the dev stack with short times, so that claims of the dead end soon and are taken over within the
// run.
const settings = `database-url = %q
drain-timeout = "10s"
log-format = "json"
[nsq]
nsqd-tcp-address = [%q]
[routes.payouts]
sender = "evm"
topic = "intents.payouts"
accept = "full"
assets = ["ETH"]
concurrency = 32
msg-timeout = "5s"
prepare-timeout = "1s"
submit-timeout = "2s"
rpc-url = "http://%s"
chain-id = %d
keystore = [%s]
passphrase = %q
confirmations = 2
window = 32
resend-after = "3s"
throttle = { in-flight = 16, per-second = 500, burst = 50 }
[routes.webhooks]
sender = "webhook"
topic = "intents.webhooks"
accept = "full"
concurrency = 64
msg-timeout = "5s"
prepare-timeout = "1s"
submit-timeout = "2s"
url = "http://%s/payments"
lookup = "http://%s/lookup/{id}"
idempotent = true
key-retention = "24h"
allow = ["127.0.0.0/8"]
throttle = { in-flight = 32, per-second = "unlimited" }
`

// configure writes relayer.toml.
func (s *stack) configure() error {
	var files []string
	for _, key := range s.keys {
		file, err := chain.WriteKeystore(s.dir, key, passphrase)
		if err != nil {
			return err
		}
		files = append(files, strconv.Quote(file))
	}
	text := fmt.Sprintf(settings, s.database.dsn, s.queue.tcp, s.rpc.addr, chain.ID, strings.Join(files, ", "), passphrase, s.pay.addr, s.pay.addr)
	s.config = filepath.Join(s.dir, "relayer.toml")
	return os.WriteFile(s.config, []byte(text), 0o600)
}
