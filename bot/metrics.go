package bot

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Collectors returns the bot's metrics for Prometheus.
func (p Programs) Collectors() []prometheus.Collector {
	b := p.bot
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	return append(b.count.Collectors(),
		gauge("matrix_tui_tasks_running", "Tasks that are running now.", func() float64 { return float64(b.running()) }),
		gauge("matrix_tui_tasks_waiting", "Tasks that wait for an answer.",
			func() float64 { return float64(b.waits.Total()) }),
		gauge("matrix_tui_agents_parked", "Rooms in which an agent waits for the next task.",
			func() float64 { return float64(b.tasks.Warm.Count()) }),
		gauge("matrix_tui_containers", "Rooms that have a container.",
			func() float64 { return float64(len(b.Store.Containers.All())) }),
		gauge("matrix_tui_last_sync_timestamp_seconds", "When the newest sync batch was stored; 0 before the first.",
			func() float64 {
				if at := b.admission.Synced.Last(); !at.IsZero() {
					return float64(at.UnixMilli()) / 1000
				}
				return 0
			}),
	)
}

// running returns the number of rooms that are working on a task.
func (b *Bot) running() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.rooms {
		if r.turn.Busy("") {
			n++
		}
	}
	return n
}
