package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const prefix = "RELAYER_"

// environment reads what os.Environ gives; of a name given twice the last counts.
func environment(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return env
}

// Variable is the environment variable of a path.
func Variable(path string) string {
	path = strings.TrimPrefix(path, "nsq.")
	return prefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(path))
}

// variables is the environment's layer. An empty variable is none. Variables that are no setting are left alone: Kubernetes makes RELAYER_PORT and
// others for a service of our name. Only what says that it is a route's setting, and is not, is worth a warning.
func (l *loader) variables() []Setting {
	var layer []Setting
	used := map[string]bool{}
	for leaf := range l.cfg.leaves() {
		name := Variable(leaf.path)
		if value := l.env[name]; value != "" {
			layer = append(layer, Setting{Path: leaf.path, Value: value, From: name})
			used[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		if strings.HasPrefix(name, prefix+"ROUTES_") && !used[name] {
			l.cfg.warn = append(l.cfg.warn, fmt.Sprintf("%s sets nothing: it is no setting of a known route", name))
		}
	}
	return layer
}
