package transfer

import "sync"

// atOnce is how many writes are under way at a time.
const atOnce = 16

// side does work beside the reading of the file; the first error counts.
type side struct {
	slots chan struct{}
	all   sync.WaitGroup
	mu    sync.Mutex
	err   error
}

func newSide() *side { return &side{slots: make(chan struct{}, atOnce)} }

func (s *side) do(work func() error) error {
	s.slots <- struct{}{}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		<-s.slots
		return s.err
	}
	s.all.Go(func() {
		err := work()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.err == nil {
			s.err = err
		}
		<-s.slots
	})
	return nil
}

func (s *side) wait() error {
	s.all.Wait()
	return s.err
}
