package policy_test

import (
	"fmt"

	"matrix-tui/bot/policy"
)

// In a room with other people, the bot answers whoever may use it and mentions it.
func ExamplePolicy_Decide() {
	rules, err := policy.Parse([]byte(`
defaults:
  allow: ["@alice:example.org"]
rooms:
  "!quiet:example.org":
    reply: mention_only
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	q := policy.Query{Room: "!quiet:example.org", Sender: "@alice:example.org"}
	fmt.Println(rules.Decide(q).Reply)
	q.Mentioned = true
	fmt.Println(rules.Decide(q).Reply)
	q.Sender = "@eve:example.org"
	fmt.Println(rules.Decide(q).Reply)
	// Output:
	// false
	// true
	// false
}
