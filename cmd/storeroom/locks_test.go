package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// waitsUnderLock are the functions that may wait while they hold a mutex, with the reason.
var waitsUnderLock = map[string]string{
	"spool.spoolReader.Read": "a condition variable frees the mutex",
	"limits.Ticket.connect":  "goroutines of one request share the mutex, and the connection that it waits for",
	"media.Store.bucket":     "opening a bucket reads files and variables, and sends nothing",
	"media.Store.Close":      "closing a bucket sends nothing",
	"db.reading.choose":      "only the reads of one request share the mutex, and all need the position",
	"db.replica.setProbe":    "at most replicaDelay, and only probes of one replica share the mutex",
	"db.replica.ping":        "at most pingTimeout, and only probes of one replica share the mutex",
}

// waits are names of functions and methods that wait for another goroutine or for a server.
var waits = []string{
	"Acquire", "Close", "Dial", "Do", "Exec", "Ping", "Query", "QueryRow", "Read", "SendBatch", "Sleep", "Wait",
}

// TestNoMutexIsHeldOverAWait reads the source. A goroutine that waits while it holds a mutex stops all that need the
// mutex, for ever if it waits for one of them.
func TestNoMutexIsHeldOverAWait(t *testing.T) {
	t.Parallel()
	locks, found := 0, map[string]bool{}
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), "../../"+path, nil, 0)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			f, is := declaration.(*ast.FuncDecl)
			if !is || f.Body == nil {
				continue
			}
			name := functionName(file, f)
			held, wait := waitUnderLock(f.Body)
			if held {
				locks++
			}
			if wait != "" {
				found[name] = true
				if waitsUnderLock[name] == "" {
					t.Errorf("%s: %s holds a mutex over a wait: %s", path, name, wait)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(waitsUnderLock)) {
		if !found[name] {
			t.Errorf("%s no longer waits: remove it from the list", name)
		}
	}
	if locks < 40 {
		t.Errorf("only %d functions with a mutex were read", locks)
	}
}

func functionName(file *ast.File, f *ast.FuncDecl) string {
	name := file.Name.Name + "."
	if f.Recv != nil {
		receiver := f.Recv.List[0].Type
		if pointer, is := receiver.(*ast.StarExpr); is {
			receiver = pointer.X
		}
		if of, is := receiver.(*ast.Ident); is {
			name += of.Name + "."
		}
	}
	return name + f.Name.Name
}

// waitUnderLock returns what a function waits for between Lock and Unlock, by their places in the source. A deferred
// Unlock is at the end. Functions that run later or in another goroutine do not count.
func waitUnderLock(body *ast.BlockStmt) (locks bool, wait string) {
	held := false
	ast.Inspect(body, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GoStmt, *ast.FuncLit, *ast.DeferStmt:
			return false
		case *ast.UnaryExpr:
			if held && n.Op == token.ARROW {
				wait = "a channel"
			}
		case *ast.SendStmt:
			if held {
				wait = "a channel"
			}
		case *ast.CallExpr:
			selected, is := n.Fun.(*ast.SelectorExpr)
			if !is {
				break
			}
			switch name := selected.Sel.Name; {
			case (name == "Lock" || name == "RLock") && len(n.Args) == 0:
				held, locks = true, true
			case name == "Unlock" || name == "RUnlock":
				held = false
			case held && (slices.Contains(waits, name) || takesContext(n)) && !logs(selected):
				wait = name
			}
		}
		return true
	})
	return locks, wait
}

func takesContext(call *ast.CallExpr) bool {
	return slices.ContainsFunc(call.Args, func(argument ast.Expr) bool {
		name, is := argument.(*ast.Ident)
		return is && name.Name == "ctx"
	})
}

// logs reports whether a call writes a line to the log.
func logs(called *ast.SelectorExpr) bool { return strings.HasSuffix(called.Sel.Name, "Context") }
