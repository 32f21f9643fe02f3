package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/nsqrelayer/relayer/intents"
)

// readFile gives the settings of a TOML file, in its order of names, each with its line. Routes that it only opens are
// opened.
func (l *loader) readFile(path string) ([]Setting, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &intents.InvalidError{Field: "config", Value: path, Want: "a file that can be read (" + reason(err) + ")"}
	}
	name := filepath.Base(path)
	var tree map[string]any
	if err := toml.Unmarshal(text, &tree); err != nil {
		return nil, syntax(name, err)
	}
	if routes, ok := tree["routes"].(map[string]any); ok {
		for _, r := range slices.Sorted(maps.Keys(routes)) {
			if err := l.openRoute("routes." + r); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return l.flatten(nil, "", tree, name, lines(text)), nil
}

// reason is why a file cannot be read, without its name.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// syntax says what is no TOML, by line. The text itself is not shown: it may hold a secret.
func syntax(name string, err error) error {
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, _ := e.Position()
		name = name + ":" + strconv.Itoa(row)
		err = errors.New(strings.TrimPrefix(e.Error(), "toml: "))
	}
	return fmt.Errorf("%s: %w", name, &intents.InvalidError{Field: "config", Want: "TOML (" + err.Error() + ")"})
}

func (l *loader) flatten(layer []Setting, parent string, tree map[string]any, file string, lines map[string]int) []Setting {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		path := join(parent, name)
		if table, ok := tree[name].(map[string]any); ok {
			if !l.isTable(path) {
				layer = l.flatten(layer, path, table, file, lines)
				continue
			}
			tree[name] = pairs(table)
		}
		layer = append(layer, Setting{Path: path, From: fmt.Sprintf("%s:%d", file, lineOf(lines, path)), raw: tree[name]})
	}
	return layer
}

// isTable says whether a path is one setting although it is written as a table.
func (l *loader) isTable(path string) bool {
	leaf, _ := l.cfg.leaf(path)
	if leaf.path == "" {
		return false
	}
	t := leaf.value.Type()
	return t == reflect.TypeFor[Tokens]() || t == reflect.TypeFor[Units]()
}

// pairs writes a table as one text.
func pairs(table map[string]any) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(table)) {
		all = append(all, fmt.Sprintf("%s=%v", name, table[name]))
	}
	return strings.Join(all, ",")
}

// lineOf is where a path stands, or the table around it.
func lineOf(lines map[string]int, path string) int {
	for path != "" && lines[path] == 0 {
		path = path[:max(strings.LastIndex(path, "."), 0)]
	}
	return lines[path]
}

// lines says on which line each key and table of a valid file begins. Keys within inline tables are not listed.
func lines(text []byte) map[string]int {
	all := map[string]int{}
	table := ""
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		e := p.Expression()
		path, line := keyOf(&p, e)
		if e.Kind == unstable.KeyValue {
			path = join(table, path)
		} else {
			table = path
		}
		all[path] = line
	}
	return all
}

func keyOf(p *unstable.Parser, e *unstable.Node) (path string, line int) {
	for it := e.Key(); it.Next(); {
		path = join(path, string(it.Node().Data))
		line = p.Shape(it.Node().Raw).Start.Line
	}
	return path, line
}
