package tenancytest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

const aloneVariable = "STOREROOM_TEST_ALONE"

// Alone runs the test again in a process of its own and says whether this is that
// process: there a test may change what the whole program shares, such as the
// providers of telemetry, and what it counts nobody else has counted.
func Alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneVariable) == t.Name() {
		return true
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=2m")
	again.Env = append(os.Environ(), aloneVariable+"="+t.Name())
	said, err := again.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "--- PASS: "+t.Name()+" ") {
		t.Errorf("alone: %v\n%s", err, said)
	}
	return false
}
