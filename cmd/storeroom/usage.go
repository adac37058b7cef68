package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/urfave/cli/v3"
)

// describe returns the description of a command: the lines of text, if any, and an example.
func describe(example string, lines ...string) string {
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	return strings.Join(append(lines, "Example: "+example), "\n")
}

func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON, for scripts"} }

// decimal is the format of numbers. The default of the library reads 010 as 8.
var decimal = cli.IntegerConfig{Base: 10}

func requiredFlag(name, usage string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: usage + " (required)", Required: true}
}

func stringFlag(name, usage string) cli.Flag { return &cli.StringFlag{Name: name, Usage: usage} }

func tenantFlag() cli.Flag { return requiredFlag("tenant", "slug of the tenant") }

// setUsageErrors makes all commands report a wrong command line in one sentence, without the help text.
func setUsageErrors(cmd *cli.Command) {
	cmd.OnUsageError = func(_ context.Context, cmd *cli.Command, err error, _ bool) error { return usageError(cmd, err) }
	for _, sub := range cmd.Commands {
		setUsageErrors(sub)
	}
}

// invalidNumber matches the library's error for a flag with a wrong number or a wrong boolean. All numbers are
// integers.
var invalidNumber = regexp.MustCompile(`^invalid value (".*") for flag -([\w-]+): `)

// usageError rewrites an error of the library, which names neither a similar flag nor the accepted values.
func usageError(cmd *cli.Command, err error) error {
	text := err.Error()
	if name, found := strings.CutPrefix(text, "flag provided but not defined: -"); found {
		return unknown("flag --"+name, name, cli.SuggestFlag(cmd.Flags, name, false), cmd)
	}
	if name, found := strings.CutPrefix(text, "flag needs an argument: "); found {
		return fmt.Errorf("%s needs a value: see %s --help", name, cmd.FullName())
	}
	if match := invalidNumber.FindStringSubmatch(text); match != nil {
		want := "a whole number"
		for _, flag := range cmd.Flags {
			if _, isBool := flag.(*cli.BoolFlag); isBool && flag.Names()[0] == match[2] {
				want = "true or false"
			}
		}
		return fmt.Errorf("--%s must be %s, not %s", match[2], want, match[1])
	}
	return err
}

// checkArguments refuses unknown commands, wrong arguments, and missing flags.
func checkArguments(_ context.Context, cmd *cli.Command) error {
	first := cmd.Args().First()
	switch {
	case len(cmd.Commands) > 0 && cmd.ArgsUsage == "" && first != "":
		similar := cli.SuggestCommand(cmd.Commands, first)
		if cmd.Command(similar) == nil {
			similar = "" // the library's help command, which is hidden
		}
		return unknown(fmt.Sprintf("command %q", first), first, similar, cmd)
	case cmd.ArgsUsage == "" && first != "":
		return fmt.Errorf("unexpected argument %q: see %s --help", first, cmd.FullName())
	}
	var missing []string
	for _, flag := range cmd.Flags {
		if required, ok := flag.(cli.RequiredFlag); ok && required.IsRequired() && !flag.IsSet() {
			missing = append(missing, "--"+flag.Names()[0])
		}
	}
	switch {
	case len(missing) > 1:
		return fmt.Errorf("%s are required", strings.Join(missing, ", "))
	case len(missing) == 1:
		return fmt.Errorf("%s is required", missing[0])
	case cmd.ArgsUsage != "" && !strings.HasSuffix(cmd.ArgsUsage, "...") && cmd.NArg() != 1:
		return fmt.Errorf("expected one argument: %s", cmd.ArgsUsage)
	}
	return nil
}

// unknown returns the error for a mistyped name. The library always finds a similar name. The error suggests it only if
// it has the same first letter.
func unknown(what, typed, similar string, cmd *cli.Command) error {
	if name := strings.TrimLeft(similar, "-"); name != "" && strings.HasPrefix(typed, name[:1]) {
		return fmt.Errorf("unknown %s: did you mean %s?", what, similar)
	}
	return fmt.Errorf("unknown %s: see %s --help", what, cmd.FullName())
}
