package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/tenancy/limits"
)

// held returns how much of a limit the user of ticket holds; share is what it may hold.
func held(ticket *limits.Ticket, kind limits.Kind, share int64) int64 {
	low, high := int64(0), share // of what it can still have
	for low < high {
		n := (low + high + 1) / 2
		release, ok := ticket.Try(kind, n)
		if !ok {
			high = n - 1
			continue
		}
		release()
		low = n
	}
	return share - low
}

const memoryShare, diskShare = 48 << 20, 512 << 20

func TestASpoolReturnsWhatWasWritten(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, maxInMemory, maxInMemory + 1, diskStep, 3*diskStep + 7} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			ticket := limits.New(24, 2).Enter("user", limits.Bulk)
			spool := New(ticket)
			want := make([]byte, size)
			for i := range want {
				want[i] = byte(rand.Uint32())
			}
			go func() {
				for rest := want; len(rest) > 0; {
					n := min(len(rest), 1+rand.N(100<<10))
					if _, err := spool.Write(rest[:n]); err != nil {
						t.Error(err)
					}
					rest = rest[n:]
				}
				spool.End(nil)
			}()
			got, err := io.ReadAll(spool.Reader()) // concurrently
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("read %d bytes, %v, want the %d bytes that were written", len(got), err, size)
			}
			err = spool.View(func(content []byte) error {
				if !bytes.Equal(content, want) {
					t.Errorf("viewed %d bytes, want the %d bytes that were written", len(content), size)
				}
				return nil
			})
			part, partErr := spool.Part(int64(size/3), size/2)
			if err != nil || partErr != nil || !bytes.Equal(part, want[size/3:][:size/2]) {
				t.Errorf("View = %v, Part = %d bytes, %v", err, len(part), partErr)
			}
			inFile := size > maxInMemory
			if disk := held(ticket, limits.Disk, diskShare); disk < int64(size) && inFile || disk > 0 && !inFile {
				t.Errorf("the spool holds %d bytes of disk for %d bytes", disk, size)
			}
			if err := spool.Close(); err != nil {
				t.Error(err)
			}
			if disk := held(ticket, limits.Disk, diskShare); disk != 0 {
				t.Errorf("a closed spool still holds %d bytes of disk", disk)
			}
		})
	}
}

// An item of an order has 40 bytes, but takes a kilobyte until it is stored.
func TestABodyCountsItsObjectsAsMemory(t *testing.T) {
	t.Parallel()
	const item = `{"sku":"P-1","quantity":1,"unit_price":5}`
	for _, test := range []struct{ items, want int64 }{
		{500, 0},
		{5000, 5000 * (objectMemory + workFactor*int64(len(item)))},
		{50_000, maxObjectsMemory + 50_000*workFactor*int64(len(item))},
		{500_000, maxObjectsMemory + maxBodyMemory},
	} {
		t.Run(fmt.Sprint(test.items), func(t *testing.T) {
			t.Parallel()
			ticket := limits.New(24, 2).Enter("user", limits.Bulk)
			spool := New(ticket)
			if _, err := io.WriteString(spool, strings.Repeat(item, int(test.items))); err != nil {
				t.Fatal(err)
			}
			spool.End(nil)
			for range 2 {
				if err := spool.Reserve(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if memory := held(ticket, limits.Memory, memoryShare); memory != test.want {
				t.Errorf("the spool holds %d bytes of memory, want %d", memory, test.want)
			}
			if err := spool.Close(); err != nil || held(ticket, limits.Memory, memoryShare) != 0 {
				t.Errorf("Close = %v, and the spool still holds memory", err)
			}
		})
	}
}

func TestTheFileOfASpoolHasNoName(t *testing.T) {
	t.Parallel()
	spool := New(nil)
	defer spool.Close()
	if _, err := spool.Write(make([]byte, maxInMemory)); err != nil || spool.file != nil {
		t.Errorf("Write of %d bytes = %v, want them in memory", maxInMemory, err)
	}
	if _, err := spool.Write([]byte("x")); err != nil || spool.file == nil {
		t.Fatalf("Write of one byte more = %v, want it in a file", err)
	}
	if _, err := os.Stat(spool.file.Name()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the name of the file still exists: %v", err)
	}
}

// TestASpoolNeedsATemporaryDirectory is not parallel: it changes the temporary directory.
func TestASpoolNeedsATemporaryDirectory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+"/absent")
	spool := New(nil)
	defer spool.Close()
	if _, err := spool.Write(make([]byte, maxInMemory+1)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Write = %v, want an error", err)
	}
}

func TestASpoolIsRefusedIfTheShareOfDiskIsInUse(t *testing.T) {
	t.Parallel()
	l := limits.New(24, 2)
	user := l.Enter("user", limits.Export)
	if _, ok := user.Try(limits.Disk, diskShare); !ok {
		t.Fatal("the share of disk is not free")
	}
	spool := New(user)
	defer spool.Close()
	_, err := spool.Write(make([]byte, maxInMemory+1))
	spool.End(err)
	if _, readErr := io.ReadAll(spool.Reader()); !errors.Is(err, limits.ErrBusy) || !errors.Is(readErr, limits.ErrBusy) {
		t.Errorf("Write = %v, Read = %v, want ErrBusy", err, readErr)
	}
	other := New(l.Enter("other", limits.Export))
	defer other.Close()
	if _, err := other.Write(make([]byte, maxInMemory+1)); err != nil {
		t.Errorf("another user's Write = %v", err)
	}
}
