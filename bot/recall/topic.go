package recall

import "matrix-tui/state/memory"

// ShellTool is the agent's tool that runs commands.
const ShellTool = "run_shell_command"

// mostTopics is how many topics an execution has.
const mostTopics = 5

// Topics returns the topics of a task: telling words of its text.
func Topics(text string) []string { return memory.Topics(text, mostTopics) }
