package config

import (
	"errors"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	mustBeMilliseconds = "a number of milliseconds"
	mustBeCount        = "a number from 1"
	mustBePairs        = "pairs such as name=value, separated by commas"
)

// CheckTelemetry returns an error that names every OTEL_* variable with a value that OpenTelemetry cannot use. The
// libraries would only log it, in some cases with a secret, and continue.
func CheckTelemetry(variables map[string]string) error { return telemetryProblems(variables).err() }

func telemetryProblems(variables map[string]string) problems {
	var found problems
	check := func(name string, valid func(string) bool, expected string) {
		if value := variables[name]; value != "" && !valid(value) {
			found.add("%s must be %s", name, expected)
		}
	}
	for _, signal := range []string{"", "TRACES_", "METRICS_", "LOGS_"} {
		otlp := "OTEL_EXPORTER_OTLP_" + signal
		check(otlp+"ENDPOINT", isEndpoint, "an address such as http://collector:4318")
		check(otlp+"PROTOCOL", oneOf("http/protobuf", "grpc"), "http/protobuf or grpc")
		check(otlp+"HEADERS", arePairs, mustBePairs)
		check(otlp+"TIMEOUT", isPositive, mustBeMilliseconds)
		check(otlp+"COMPRESSION", oneOf("gzip", "none"), "gzip or none")
		for _, file := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
			check(otlp+file, isReadable, "a file that can be read")
		}
		if signal != "" {
			check("OTEL_"+signal+"EXPORTER", oneOf("otlp", "none"), "otlp or none")
		}
	}
	samplers := []string{
		"always_on", "always_off", "traceidratio",
		"parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio",
	}
	check("OTEL_TRACES_SAMPLER", oneOf(samplers...), "one of "+strings.Join(samplers, ", "))
	check("OTEL_TRACES_SAMPLER_ARG", isRatio, "a number from 0 to 1")
	check("OTEL_RESOURCE_ATTRIBUTES", arePairs, mustBePairs)
	check("OTEL_METRIC_EXPORT_INTERVAL", isPositive, mustBeMilliseconds)
	check("OTEL_METRIC_EXPORT_TIMEOUT", isPositive, mustBeMilliseconds)
	for _, processor := range []string{"OTEL_BSP_", "OTEL_BLRP_"} {
		check(processor+"SCHEDULE_DELAY", isPositive, mustBeMilliseconds)
		check(processor+"EXPORT_TIMEOUT", isPositive, mustBeMilliseconds)
		check(processor+"MAX_QUEUE_SIZE", isPositive, mustBeCount)
		check(processor+"MAX_EXPORT_BATCH_SIZE", isPositive, mustBeCount)
	}
	return found
}

func oneOf(names ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(names, s) }
}

func isEndpoint(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func isPositive(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n > 0
}

func isRatio(s string) bool {
	ratio, err := strconv.ParseFloat(s, 64)
	return err == nil && ratio >= 0 && ratio <= 1
}

func isReadable(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	_, err = file.Read(make([]byte, 1)) // fails for a directory
	return errors.Join(err, file.Close()) == nil
}

func arePairs(s string) bool {
	invalidInName := func(r rune) bool { return r <= ' ' || r > '~' }
	for pair := range strings.SplitSeq(s, ",") {
		name, value, found := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		_, err := url.PathUnescape(value)
		if !found || err != nil || name == "" || strings.ContainsFunc(name, invalidInName) {
			return false
		}
	}
	return true
}
