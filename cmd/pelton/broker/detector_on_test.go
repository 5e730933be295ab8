//go:build race

package broker_test

const raceDetector = true
