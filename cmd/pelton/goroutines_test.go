package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the program itself when a test has started it so.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// asProgram is the variable that makes the test's binary the program.
const asProgram = "PELTON_TEST_AS_PROGRAM"
