package dbtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

const aloneVariable = "STOREROOM_TEST_ALONE"

// Alone runs the test in a separate process and reports whether this is that process.
// There a test may change global state, such as the providers of telemetry, and no other
// test changes the counters.
func Alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneVariable) == t.Name() {
		return true
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=10m")
	child.Env = append(os.Environ(), aloneVariable+"="+t.Name())
	output, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()+" ") {
		t.Errorf("alone: %v\n%s", err, output)
	}
	return false
}
