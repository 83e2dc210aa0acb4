// Package metrics counts what the bot has done since it was started, for Prometheus.
// It never names a room or a person.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"matrix-tui/agent"
	"matrix-tui/state"
)

// Counters are the bot's metrics since the start. They never name a room or a
// person.
type Counters struct {
	tasks     *prometheus.CounterVec
	seconds   prometheus.Histogram
	tokens    prometheus.Counter
	questions *prometheus.CounterVec
	rejected  prometheus.Counter
}

// New returns counters that are all zero.
func New() *Counters {
	return &Counters{
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
func (c *Counters) Asked()    { c.questions.WithLabelValues("asked").Inc() }
func (c *Counters) Answered() { c.questions.WithLabelValues("answered").Inc() }

// Ended counts a task that has ended.
func (c *Counters) Ended(how agent.Ended, cost state.Usage) {
	c.tasks.WithLabelValues(string(how)).Inc()
	c.seconds.Observe(cost.Time.Seconds())
	c.tokens.Add(float64(cost.Tokens))
}

// Rejected counts a malformed event from the homeserver.
func (c *Counters) Rejected() { c.rejected.Inc() }

// Collectors returns the counters for Prometheus.
func (c *Counters) Collectors() []prometheus.Collector {
	return []prometheus.Collector{c.tasks, c.seconds, c.tokens, c.questions, c.rejected}
}
