package main

import (
	"fmt"
	"log/slog"
	"strconv"

	"github.com/nsqrelayer/relayer/intents/pgstore"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" default:"1" help:"Take every step that is outstanding (the default)."`
	Status migrateStatusCmd `cmd:"" help:"List the steps; exit 1 when one is outstanding."`
}

type migrateUpCmd struct{}

// Help shows examples.
func (migrateUpCmd) Help() string {
	return "Examples:\n\n    relayer migrate\n    relayer migrate status\n\n" +
		"Several processes may do so at once. The address must be Postgres' own, not that of a pooler in transaction mode."
}

// Run migrates.
func (migrateUpCmd) Run(a *app) error {
	dsn, err := a.dsn()
	if err != nil {
		return err
	}
	ctx, stop := a.context()
	defer stop()
	steps, err := a.parts.migrate(ctx, dsn, a.logger(slog.LevelWarn))
	for _, s := range steps {
		fmt.Fprintf(a.stdout, "applied migration %03d %s\n", s.Version, s.Name)
	}
	if err == nil && len(steps) == 0 {
		fmt.Fprintln(a.stdout, "no migrations to apply")
	}
	return settingError(err)
}

type migrateStatusCmd struct{}

// Run lists the steps.
func (migrateStatusCmd) Run(a *app) error {
	dsn, err := a.dsn()
	if err != nil {
		return err
	}
	ctx, stop := a.context()
	defer stop()
	steps, err := a.parts.migrations(ctx, dsn)
	if err != nil {
		return settingError(err)
	}
	outstanding, err := printSteps(newTable(a.stdout, "VERSION", "NAME", "APPLIED"), steps)
	if err == nil && outstanding > 0 {
		err = fmt.Errorf("%d outstanding: run relayer migrate", outstanding)
	}
	return err
}

func printSteps(t table, steps []pgstore.Migration) (outstanding int, err error) {
	for _, s := range steps {
		applied := "outstanding"
		if s.AppliedAt.IsZero() {
			outstanding++
		} else {
			applied = stamp(s.AppliedAt)
		}
		t.row(strconv.FormatInt(s.Version, 10), s.Name, applied)
	}
	return outstanding, t.flush()
}

// dsn reads the settings and gives the database's address.
func (a *app) dsn() (string, error) {
	cfg, err := a.config()
	if err != nil {
		return "", err
	}
	dsn, err := cfg.DSN()
	return dsn, usage(err)
}
