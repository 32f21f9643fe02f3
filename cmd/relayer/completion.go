package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd prints what a shell needs to complete our commands. The words themselves come from the program each time,
// so that they are those of its version.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help follows the description in relayer completion --help.
func (completionCmd) Help() string {
	return "Examples:\n\n    source <(relayer completion bash)\n    source <(relayer completion zsh)\n    relayer completion fish > ~/.config/fish/completions/relayer.fish"
}

// shells are the scripts. Each hands all words up to the cursor to relayer complete.
var shells = map[string]string{
	"bash": `_relayer() {
	local IFS=$'\n'
	COMPREPLY=($(relayer complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _relayer relayer
`,
	"zsh": `#compdef relayer
_relayer() {
	local -a found
	found=(${(f)"$(relayer complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
	if (( $#found )); then compadd -a found; else _files; fi
}
compdef _relayer relayer
`,
	"fish": `complete -c relayer -f -a '(relayer complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
}

// Run prints the script.
func (c *completionCmd) Run(a *app) error {
	_, err := fmt.Fprint(a.stdout, shells[c.Shell])
	return err
}

// completeCmd is asked by those scripts.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words of a command line, the last one unfinished."`
}

// Run prints what the last word may become, one a line.
func (c *completeCmd) Run(k *kong.Context, a *app) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, word := range completions(k.Model.Node, words) {
		if _, err := fmt.Fprintln(a.stdout, word); err != nil {
			return err
		}
	}
	return nil
}

// completions walks the commands, and gives what the last word may become: a command, a flag, or a value of one that has
// only some.
func completions(at *kong.Node, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	done, last := words[:len(words)-1], words[len(words)-1]
	for _, word := range done {
		for _, child := range at.Children {
			if child.Name == word || slices.Contains(child.Aliases, word) {
				at = child
				break
			}
		}
	}
	var all []string
	switch flag := flagOf(at, done); {
	case flag != nil && !flag.IsBool():
		all = flag.EnumSlice()
	case strings.HasPrefix(last, "-"):
		all = flagsOf(at)
	default:
		all = wordsOf(at)
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" || !strings.HasPrefix(s, last) })
	slices.Sort(all)
	return slices.Compact(all)
}

// flagOf is the flag that the last finished word is, whose value comes next.
func flagOf(at *kong.Node, done []string) *kong.Flag {
	if len(done) == 0 {
		return nil
	}
	for _, group := range at.AllFlags(true) {
		for _, f := range group {
			if word := done[len(done)-1]; word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

func flagsOf(at *kong.Node) (all []string) {
	for _, group := range at.AllFlags(true) {
		for _, f := range group {
			all = append(all, "--"+f.Name)
		}
	}
	return all
}

// wordsOf are the commands that may come next, and the values of an argument that has only some.
func wordsOf(at *kong.Node) (all []string) {
	for _, child := range at.Children {
		if !child.Hidden && child.Type == kong.CommandNode {
			all = append(all, child.Name)
		}
	}
	for _, p := range at.Positional {
		if p.Enum != "" {
			all = append(all, p.EnumSlice()...)
		}
	}
	return all
}
