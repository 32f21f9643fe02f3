package check

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// scaled is what KEDA's ScaledObject is here: its API is not worth its modules.
type scaled struct {
	APIVersion string `json:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		ScaleTargetRef                                                    struct{ Name string } `json:"scaleTargetRef"`
		MinReplicaCount, MaxReplicaCount, PollingInterval, CooldownPeriod int
		Triggers                                                          []struct {
			Type     string
			Metadata map[string]string
		}
	}
}

// cluster is what deploy/k8s has.
type cluster struct {
	app    appsv1.Deployment
	budget policyv1.PodDisruptionBudget
	job    batchv1.Job
	config corev1.ConfigMap
	secret corev1.Secret
	scale  scaled
}

// decode reads objects strictly, each into the type of its API.
func decode(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{}
	into := map[string]any{"Deployment": &c.app, "PodDisruptionBudget": &c.budget, "Job": &c.job, "ConfigMap": &c.config, "Secret": &c.secret, "ScaledObject": &c.scale}
	for _, file := range []string{"relayer.yaml", "migrate.yaml", "config.yaml", "scale.yaml"} {
		for doc := range strings.SplitSeq(read(t, "deploy/k8s/"+file), "\n---\n") {
			kind := regexp.MustCompile(`(?m)^kind: (\w+)$`).FindStringSubmatch(doc)
			if kind == nil || into[kind[1]] == nil {
				t.Fatalf("%s: an object of kind %v", file, kind)
			}
			if err := yaml.UnmarshalStrict([]byte(doc), into[kind[1]]); err != nil {
				t.Errorf("%s, %s: %v", file, kind[1], err)
			}
			delete(into, kind[1])
		}
	}
	if len(into) > 0 {
		t.Fatalf("missing: %v", into)
	}
	return c
}

// Kubernetes is told when to ask, when to wait, and when to kill; nobody is root; no two are lost at once.
func TestDeployment(t *testing.T) {
	c := decode(t)
	pod := c.app.Spec.Template.Spec
	settings := c.config.Data["relayer.toml"]
	if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; grace < drain(t, settings)+writing {
		t.Errorf("terminationGracePeriodSeconds is %s", grace)
	}
	main := pod.Containers[0]
	port := main.Ports[0]
	if got := httpPort(t); got != "4480" || port.ContainerPort != 4480 || variable(main, "RELAYER_HTTP_ADDRESS") != ":4480" ||
		c.app.Spec.Template.Annotations["prometheus.io/port"] != "4480" {
		t.Errorf("ports differ: %s, %d", got, port.ContainerPort)
	}
	for name, probe := range map[string]*corev1.Probe{"/livez": main.LivenessProbe, "/readyz": main.ReadinessProbe} {
		if probe.HTTPGet.Path != name || probe.HTTPGet.Port.StrVal != port.Name {
			t.Errorf("%s: asked at %v", name, probe.HTTPGet)
		}
	}
	labels := c.app.Spec.Template.Labels
	for _, selector := range []map[string]string{c.app.Spec.Selector.MatchLabels, c.budget.Spec.Selector.MatchLabels, pod.TopologySpreadConstraints[0].LabelSelector.MatchLabels} {
		for k, v := range selector {
			if labels[k] != v {
				t.Errorf("%s=%s selects no relayer", k, v)
			}
		}
	}
	if c.budget.Spec.MaxUnavailable.IntValue() != 1 || len(pod.TopologySpreadConstraints) < 2 {
		t.Error("two may be lost at once, or all stand on one node")
	}
	if c.app.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 {
		t.Error("a rollout takes one away before another is ready")
	}
	safe(t, pod)
	safe(t, c.job.Spec.Template.Spec)
	valid(t, "deploy/k8s/config.yaml", settings)
}

// safe wants a pod without root, without privileges and without a service's variables.
func safe(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	if s := pod.SecurityContext; s.RunAsNonRoot == nil || !*s.RunAsNonRoot || *s.RunAsUser == 0 || pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
		t.Error("a pod may be root, or gets a service's variables")
	}
	for _, c := range pod.Containers {
		if s := c.SecurityContext; *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Contains(s.Capabilities.Drop, "ALL") {
			t.Errorf("%s has privileges", c.Name)
		}
	}
}

func variable(c corev1.Container, name string) string {
	for _, v := range c.Env {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// Commands, flags, variables and mounted files are the program's; the queue that scales is the route's.
func TestClusterFitsTheProgram(t *testing.T) {
	c := decode(t)
	for _, pod := range []corev1.PodSpec{c.app.Spec.Template.Spec, c.job.Spec.Template.Spec} {
		main := pod.Containers[0]
		takes(t, "deploy/k8s", main.Args)
		for _, v := range main.Env {
			known(t, "deploy/k8s", v.Name)
		}
		dsn := variable(main, "RELAYER_DATABASE_URL_FILE")
		if !slices.ContainsFunc(main.VolumeMounts, func(m corev1.VolumeMount) bool { return dsn == m.MountPath+"/database-url" }) ||
			c.secret.StringData["database-url"] == "" {
			t.Errorf("nothing is mounted at %s", dsn)
		}
		for _, m := range main.VolumeMounts {
			if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
				t.Errorf("no volume %s", m.Name)
			}
		}
	}
	if args := c.app.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "/etc/relayer/relayer.toml") {
		t.Errorf("the settings are not read: %v", args)
	}
	s, settings := c.scale.Spec, c.config.Data["relayer.toml"]
	q := s.Triggers[0]
	if s.ScaleTargetRef.Name != c.app.Name || s.MinReplicaCount < 1 || q.Type != "nsq" {
		t.Errorf("scaling: %+v", s)
	}
	for _, want := range []string{
		`topic = "` + q.Metadata["topic"] + `"`, `channel = "` + q.Metadata["channel"] + `"`, `["` + q.Metadata["nsqLookupdHTTPAddresses"] + `"]`,
	} {
		if !strings.Contains(settings, want) {
			t.Errorf("what scales is not what is consumed: no %s", want)
		}
	}
}
