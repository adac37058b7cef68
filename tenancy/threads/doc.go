// Package threads tells Linux which threads of the process to run first when all CPUs are in use.
//
// A slice is the time that Linux lets a thread run before others. A thread that wakes up interrupts one with a longer
// slice at once. Otherwise it can wait for the next tick of the clock, up to 4 ms, each time that a request continues
// after a response of Redis or PostgreSQL.
package threads
