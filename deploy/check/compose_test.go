package check

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// compose reads docker-compose.yml as docker compose does.
func compose(t *testing.T, env ...string) *types.Project {
	t.Helper()
	file, err := filepath.Abs(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := cli.NewProjectOptions([]string{file}, cli.WithEnv(env), cli.WithName("relayer"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Compose takes the file; whoever is waited for is healthy, or has done its work; and the relayer can be there three times.
func TestCompose(t *testing.T) {
	p := compose(t)
	for _, name := range []string{"postgres", "nsqlookupd", "nsqd", "nsqadmin", "sink", "migrate", "relayer"} {
		if _, err := p.GetService(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range p.Services {
		for on, d := range s.DependsOn {
			if d.Condition == types.ServiceConditionHealthy && p.Services[on].HealthCheck == nil {
				t.Errorf("%s waits for the health of %s, which is not looked at", name, on)
			}
		}
	}
	r := p.Services["relayer"]
	if d := r.DependsOn["migrate"]; d.Condition != types.ServiceConditionCompletedSuccessfully { // also, up --wait fails on one that has ended otherwise
		t.Errorf("relayer does not wait for migrate's end: %q", d.Condition)
	}
	if len(r.Ports) > 0 || r.ContainerName != "" {
		t.Errorf("a published port or a name of its own, %v %q, lets nobody scale it", r.Ports, r.ContainerName)
	}
	settings := read(t, "deploy/compose/relayer.toml")
	if grace := time.Duration(*r.StopGracePeriod); grace < drain(t, settings)+writing {
		t.Errorf("stop_grace_period is %s", grace)
	}
	if test := r.HealthCheck.Test; !slices.Equal(test, []string{"CMD", "/relayer", "healthcheck"}) {
		t.Errorf("health is asked by %v", test)
	}
	if r.Build.Target != "relayer" || p.Services["migrate"].Build.Target != "relayer" || p.Services["sink"].Build.Target != "sink" {
		t.Error("a service is not built from its stage of the Dockerfile")
	}
	valid(t, "deploy/compose/relayer.toml", settings, "--nsqlookupd-http-address", "nsqlookupd:4161")
}

// What the services are started with exists: commands, flags, variables, and the addresses at which they find each other.
func TestComposeFitsTheProgram(t *testing.T) {
	p := compose(t)
	for _, name := range []string{"relayer", "migrate"} {
		s := p.Services[name]
		takes(t, "docker-compose.yml", s.Command)
		for variable := range s.Environment {
			known(t, "docker-compose.yml", variable)
		}
	}
	r := p.Services["relayer"]
	mounted := r.Volumes[0]
	if !slices.Contains(r.Command, mounted.Target) || !strings.HasSuffix(mounted.Source, "/deploy/compose/relayer.toml") {
		t.Errorf("settings are mounted from %s at %s, the command is %v", mounted.Source, mounted.Target, r.Command)
	}
	if own := compose(t, "RELAYER_TOML=/my/own.toml").Services["relayer"].Volumes[0].Source; own != "/my/own.toml" {
		t.Errorf("RELAYER_TOML is not taken: %s", own)
	}
	nsqd := strings.Join(p.Services["nsqd"].Command, " ")
	for _, want := range []string{"--lookupd-tcp-address=nsqlookupd:4160", "--broadcast-address=nsqd"} {
		if !strings.Contains(nsqd, want) {
			t.Errorf("nsqd is started without %s: %s", want, nsqd)
		}
	}
	if !slices.Contains(r.Command, "nsqlookupd:4161") {
		t.Errorf("the relayer asks another nsqlookupd: %v", r.Command)
	}
	if !strings.Contains(read(t, "Dockerfile"), "\nEXPOSE 8089\n") || !strings.Contains(read(t, "deploy/compose/relayer.toml"), `"http://sink:8089/`) {
		t.Error("the sink is not where the route sends to")
	}
}
