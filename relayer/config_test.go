package relayer_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nsqrelayer/relayer/intents"
	"github.com/nsqrelayer/relayer/relayer"
)

func TestConfigRefusesNonsenseByName(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(c *relayer.Config)
		fields []string
	}{
		"fine":              {func(*relayer.Config) {}, nil},
		"no route":          {func(c *relayer.Config) { c.Route = "" }, []string{"route"}},
		"no topic":          {func(c *relayer.Config) { c.Topic = "" }, []string{"topic"}},
		"no concurrency":    {func(c *relayer.Config) { c.Concurrency = 0 }, []string{"concurrency"}},
		"below none":        {func(c *relayer.Config) { c.Concurrency = -4 }, []string{"concurrency"}},
		"weight":            {func(c *relayer.Config) { c.Weight = -1 }, []string{"weight"}},
		"plan-timeout":      {func(c *relayer.Config) { c.PlanTimeout = -1 }, []string{"plan-timeout"}},
		"prepare-timeout":   {func(c *relayer.Config) { c.PrepareTimeout = -1 }, []string{"prepare-timeout"}},
		"submit-timeout":    {func(c *relayer.Config) { c.SubmitTimeout = -1 }, []string{"submit-timeout"}},
		"store-timeout":     {func(c *relayer.Config) { c.StoreTimeout = -1 }, []string{"store-timeout"}},
		"write-grace":       {func(c *relayer.Config) { c.WriteGrace = -1 }, []string{"write-grace"}},
		"confirm-after":     {func(c *relayer.Config) { c.ConfirmAfter = -1 }, []string{"confirm-after"}},
		"sweep-every":       {func(c *relayer.Config) { c.SweepEvery = -1 }, []string{"sweep-every"}},
		"observe-every":     {func(c *relayer.Config) { c.ObserveEvery = -1 }, []string{"observe-every"}},
		"observe-most":      {func(c *relayer.Config) { c.ObserveMost = -1 }, []string{"observe-most"}},
		"drain too short":   {func(c *relayer.Config) { c.DrainTimeout = 15 * time.Second }, []string{"drain-timeout"}},
		"drain just enough": {func(c *relayer.Config) { c.DrainTimeout = 15*time.Second + 1 }, nil},
		"submit too long":   {func(c *relayer.Config) { c.SubmitTimeout = 40 * time.Second }, []string{"drain-timeout"}},
		"review too soon":   {func(c *relayer.Config) { c.ReviewAfter = 35 * time.Second }, []string{"review-after"}},
		"review just so":    {func(c *relayer.Config) { c.ReviewAfter = 35*time.Second + 1 }, nil},
		"prepare too long":  {func(c *relayer.Config) { c.PrepareTimeout = 5 * time.Minute }, []string{"review-after"}},
		"several":           {func(c *relayer.Config) { c.Route, c.Concurrency, c.ObserveEvery = "", 0, -1 }, []string{"concurrency", "observe-every", "route"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := relayer.Config{Route: "payouts", Topic: "intents.payouts", Concurrency: 1}
			tt.change(&c)
			err := c.Validate()
			if got := fields(err); strings.Join(got, " ") != strings.Join(tt.fields, " ") {
				t.Errorf("refused %v, want %v: %v", got, tt.fields, err)
			}
			if _, werr := relayer.NewWorker(c, nil, nil, nil, nil, nil); (werr == nil) != (err == nil) {
				t.Errorf("NewWorker says %v, Validate %v", werr, err)
			}
		})
	}
}

// fields lists the settings that joined errors name.
func fields(err error) (out []string) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	for _, e := range joined.Unwrap() {
		if invalid, ok := errors.AsType[*intents.InvalidError](e); ok {
			out = append(out, invalid.Field)
		}
	}
	return out
}

func TestConfigTermIsDerived(t *testing.T) {
	c := relayer.Config{PrepareTimeout: 20 * time.Second, SubmitTimeout: 30 * time.Second}
	if got := c.WithDefaults().Term(); got != 65*time.Second {
		t.Errorf("term is %s, want 65s", got)
	}
}

func TestDispositionsTellWhatTheyAre(t *testing.T) {
	if d, ok := relayer.Requeue(-time.Second).Requeued(); !ok || d != 0 {
		t.Errorf("a negative delay is %s", d)
	}
	if relayer.Leave().Finished() || !relayer.Finish().Finished() {
		t.Error("Finished is wrong")
	}
	if _, ok := relayer.Finish().Requeued(); ok {
		t.Error("a finished one is requeued")
	}
	if (relayer.Disposition{}) != relayer.Leave() {
		t.Error("the zero disposition is not Leave")
	}
}
