package workspace_test

import (
	"fmt"
	"strings"

	"matrix-tui/workspace"
)

// What people write is marked with their name, and an @ in it includes no file.
func ExamplePrompt() {
	prompt := workspace.Prompt(workspace.Input{Task: "summarise @notes.txt", Asker: "alice"})
	for line := range strings.Lines(prompt) {
		if strings.Contains(line, "alice") {
			fmt.Print(line)
		}
	}
	// Output:
	// [alice]: summarise \@notes.txt
}
