package web

import "sync"

// places bounds what goes on at the same time, of all and of each.
type places struct {
	most, mostOf int

	mu  sync.Mutex
	all int
	of  map[string]int
}

// begin reports whether there is a place, for which end must be called.
func (p *places) begin(of string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= p.most || p.of[of] >= p.mostOf {
		return false
	}
	if p.of == nil {
		p.of = map[string]int{}
	}
	p.all++
	p.of[of]++
	return true
}

func (p *places) end(of string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.of[of]--; p.of[of] == 0 {
		delete(p.of, of)
	}
}
