// Package threads tells Linux which threads of the process to run last when all CPUs are in use.
//
// A slice is the time that a thread asks to run before others do. From version 6.12, Linux lets a thread that wakes up
// interrupt one with a longer slice at once. Otherwise it can wait for the next tick of the clock, up to 4 ms, each time
// that a request continues after a response of Redis or PostgreSQL.
package threads
