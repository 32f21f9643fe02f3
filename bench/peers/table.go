package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// print prints the table and, last, the line of ratios.
func (b *bench) print() error {
	fmt.Fprintln(b.out)
	t := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\twhat\ta second, each round\tmedian\tours to it\tclient CPU each\n")
	var line []string
	for i, s := range b.sides {
		ratio := "1.00"
		if i > 0 {
			ratio = fmt.Sprintf("%.2f", b.ratio(s.name))
			if s.named() {
				line = append(line, s.name+" "+ratio)
			}
		}
		rates := b.rates(s.name)
		fmt.Fprintf(t, "%s\t%s\t%s\t%.0f\t%s\t%.0f us\n", s.name, s.title, list(rates), median(rates), ratio, median(b.each(s.name, cpu)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(b.out, "\nbench-peers: %s\n", strings.Join(line, ", "))
	return err
}

func cpu(f figure) float64  { return f.CPU }
func rate(f figure) float64 { return f.PerSecond }

// each gives one thing of a side in every round.
func (b *bench) each(name string, of func(figure) float64) []float64 {
	all := make([]float64, len(b.round))
	for i, figures := range b.round {
		all[i] = of(figures[name])
	}
	return all
}

func (b *bench) rates(name string) []float64 { return b.each(name, rate) }

// ratio is ours to a peer's inside one round, in the median of the rounds: the machine's speed moves between rounds.
func (b *bench) ratio(name string) float64 {
	mine, its := b.rates(ours.name), b.rates(name)
	all := make([]float64, len(mine))
	for i := range mine {
		all[i] = mine[i] / its[i]
	}
	return median(all)
}

// median is the value in the middle, of an even number the lower one.
func median(all []float64) float64 { return slices.Sorted(slices.Values(all))[(len(all)-1)/2] }

func list(all []float64) string {
	texts := make([]string, len(all))
	for i, f := range all {
		texts[i] = fmt.Sprintf("%.0f", f)
	}
	return strings.Join(texts, " ")
}
