// Command pstest serves the in-memory Pub/Sub server of Google's Go client on a free loopback port. It prints one line
// when it is ready and ends when its standard input closes.
package main

import (
	"fmt"
	"io"
	"os"

	"cloud.google.com/go/pubsub/v2/pstest"
)

func main() {
	server := pstest.NewServer()
	defer server.Close()
	fmt.Println("pstest listening on", server.Addr)
	io.Copy(io.Discard, os.Stdin)
}
