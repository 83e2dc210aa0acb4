package text_test

import (
	"fmt"

	"matrix-tui/bot/text"
)

// A message has a plain form and an HTML form.
func ExampleRender() {
	body, html := text.Render("Run `make`, **then** wait.")
	fmt.Println(body)
	fmt.Println(html)
	// Output:
	// Run make, then wait.
	// Run <code>make</code>, <strong>then</strong> wait.
}

// A code block that is cut is closed in one part and opened again in the next.
func ExampleSplit() {
	for i, part := range text.Split("```\none one one\ntwo two two\n```", 25) {
		fmt.Printf("part %d: %q\n", i+1, part)
	}
	// Output:
	// part 1: "```\none one one\n```"
	// part 2: "```\ntwo two two\n```"
}
