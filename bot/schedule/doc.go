// Package schedule is the schedule of a room: what people and the agent say about it, when its entries are due (by a
// cron expression, at an interval or once, in the room's time zone), and their runs. It reads no clock. state.Schedule
// stores the entries; package bot looks regularly what is due.
package schedule
