package admission

// PollNetwork makes the Go runtime poll the network in another thread. The thread that polls runs the goroutine of the
// first event, and no other thread takes its place. If that goroutine computes for long, others would wait for up to 10
// ms until the runtime sees their data.
func PollNetwork() {
	go func() {}() // the runtime starts a thread for it, which polls afterwards
}
