package bot

import (
	"github.com/prometheus/client_golang/prometheus"

	"matrix-tui/agent"
	"matrix-tui/state"
)

// counters are the bot's metrics since the start. They never name a room or a
// person.
type counters struct {
	tasks     *prometheus.CounterVec
	seconds   prometheus.Histogram
	tokens    prometheus.Counter
	questions *prometheus.CounterVec
	rejected  prometheus.Counter
}

func newCounters() *counters {
	return &counters{
		tasks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "matrix_tui_tasks_total", Help: "Tasks that have ended, by outcome.",
		}, []string{"ended"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "matrix_tui_task_seconds", Help: "Working time of tasks, without the time spent waiting for people.",
			Buckets: []float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1200, 2400},
		}),
		tokens: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "matrix_tui_tokens_total", Help: "Tokens used by tasks, as counted by the model.",
		}),
		questions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "matrix_tui_questions_total", Help: "Questions to people, asked and answered.",
		}, []string{"event"}),
		rejected: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "matrix_tui_events_rejected_total", Help: "Malformed events from the homeserver that were rejected.",
		}),
	}
}

// Asked and Answered count questions.
func (c *counters) Asked()    { c.questions.WithLabelValues("asked").Inc() }
func (c *counters) Answered() { c.questions.WithLabelValues("answered").Inc() }

// Ended counts a task that has ended.
func (c *counters) Ended(how agent.Ended, cost state.Usage) {
	c.tasks.WithLabelValues(string(how)).Inc()
	c.seconds.Observe(cost.Time.Seconds())
	c.tokens.Add(float64(cost.Tokens))
}

// Collectors returns the bot's metrics for Prometheus.
func (b *Bot) Collectors() []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	return []prometheus.Collector{
		b.count.tasks, b.count.seconds, b.count.tokens, b.count.questions, b.count.rejected,
		gauge("matrix_tui_tasks_running", "Tasks that are running now.", func() float64 { return float64(b.running()) }),
		gauge("matrix_tui_tasks_waiting", "Tasks that wait for an answer.", func() float64 { return float64(b.waits.Total()) }),
		gauge("matrix_tui_containers", "Rooms that have a container.", func() float64 { return float64(len(b.Store.Containers())) }),
		gauge("matrix_tui_last_sync_timestamp_seconds", "When the newest sync batch was stored; 0 before the first.", func() float64 {
			if at := b.synced.Last(); !at.IsZero() {
				return float64(at.UnixMilli()) / 1000
			}
			return 0
		}),
	}
}

// running returns the number of rooms that are working on a task.
func (b *Bot) running() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.rooms {
		if r.busy("") {
			n++
		}
	}
	return n
}
