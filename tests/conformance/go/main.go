// Command conformance runs the scenarios with Google's Go client.
//
// Usage: conformance HOST:PORT [CONTROL_HOST:PORT]. It prints a line "check<TAB>observed" for each check of
// ../checks.tsv. With a control address, time is moved on the server; without one, it passes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func main() {
	os.Setenv("PUBSUB_EMULATOR_HOST", os.Args[1])
	client, err := pubsub.NewClient(context.Background(), project)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	s := &server{client: client, topics: client.TopicAdminClient, subscriptions: client.SubscriptionAdminClient}
	if len(os.Args) > 2 {
		s.control = os.Args[2]
	}
	admin(s)
	messages(s)
	streams(s)
	ordering(s)
	deadLetters(s)
	filters(s)
	exactlyOnce(s)
	flow(s)
	seeks(s)
}

// check prints what was observed: the answer, or the code of the call that failed.
func check(name string, observe func(id string) string) {
	fmt.Println(name + "\t" + observed(strings.ReplaceAll(name, "/", "-"), observe))
}

func observed(id string, observe func(id string) string) (what string) {
	defer func() {
		if failure := recover(); failure != nil {
			what = fmt.Sprint(failure)
			if err, ok := failure.(error); ok {
				what = describe(err)
			}
			what = strings.SplitN(what, "\n", 2)[0]
		}
	}()
	return observe(id)
}

// accepts is a check of something that must be refused.
func accepts(name string, do func(id string)) {
	check(name, func(id string) string {
		do(id)
		return "accepted"
	})
}

// The calls below panic with what went wrong; check turns it into what was observed.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func mustDo(err error) {
	if err != nil {
		panic(err)
	}
}

func codeOf(err error) codes.Code {
	var withStatus interface{ GRPCStatus() *status.Status }
	if errors.As(err, &withStatus) {
		return withStatus.GRPCStatus().Code()
	}
	return codes.Unknown
}

func describe(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer"
	}
	if name, known := names[codeOf(err)]; known {
		return name
	}
	return err.Error()
}

// The codes as the documentation writes them.
var names = map[codes.Code]string{
	codes.InvalidArgument:    "INVALID_ARGUMENT",
	codes.DeadlineExceeded:   "no answer",
	codes.NotFound:           "NOT_FOUND",
	codes.AlreadyExists:      "ALREADY_EXISTS",
	codes.FailedPrecondition: "FAILED_PRECONDITION",
	codes.Unimplemented:      "UNIMPLEMENTED",
	codes.Internal:           "INTERNAL",
	codes.Unavailable:        "no answer",
}
