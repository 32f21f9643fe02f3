package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

type versionCmd struct {
	Output string `short:"o" enum:"text,json" default:"text" help:"text or json."`
}

// build is what the go command wrote into the binary.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"` // of the commit
	Modified bool   `json:"modified"`       // built from files that differ from the commit
	Go       string `json:"go"`
}

// Run prints the build.
func (c *versionCmd) Run(a *app) error {
	b := version()
	if c.Output == "json" {
		return printJSON(a.stdout, b)
	}
	commit := cmp.Or(b.Commit, "unknown")
	if b.Modified {
		commit += " (modified)"
	}
	_, err := fmt.Fprintf(a.stdout, "relayer %s\ncommit  %s\ndate    %s\ngo      %s\n", b.Version, commit, cmp.Or(b.Date, "unknown"), b.Go)
	return err
}

func version() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{Version: "unknown"}
	}
	b := build{Version: cmp.Or(info.Main.Version, "(devel)"), Go: info.GoVersion}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
