package agent

// The lines of a signal. Source: seed 000, "MOLTBOT_INSTRUCTION_TEMPLATE".
const (
	needInput = "<<<NEED_INPUT>>>"
	inContext = "<<<CONTEXT>>>"
	endInput  = "<<<END_INPUT>>>"
)

// MaxQuestion bounds a question, and its context, in bytes.
const MaxQuestion = 64 << 10

// Instruction tells the agent how to ask a person; it stands in every prompt.
const Instruction = "When you lack a fact, a decision or a permission that only a person can give, do not guess and do not choose for them. " +
	"Stop there: call no further tool, and end your answer with a question of exactly this form, each marker alone on its line, outside of any code block:\n\n" +
	needInput + "\nthe question; when there are choices, one a line, as 1. 2. 3.\n" +
	inContext + "\nin a sentence or two, what you were doing and why you cannot go on\n" +
	endInput + "\n\n" +
	"The answer comes with the next message; go on from there. Never write these markers for anything else.\n"

// SignalKind says whether a text asks something.
type SignalKind string

const (
	// NoSignal is a text that asks nothing.
	NoSignal SignalKind = ""
	// Asked is a text with a whole signal in it.
	Asked SignalKind = "asked"
	// CutOff is a text that ends within a signal.
	CutOff SignalKind = "cut_off"
)

// Signal is what an assistant's text says to the person.
type Signal struct {
	Kind              SignalKind
	Question, Context string // with Asked; Context may be ""
	// Before is what stands ahead of the signal in its own message, and After
	// all that was said after it, with Asked. Otherwise Before is the last
	// message, as it was.
	Before, After string
	// Truncated says that one of the four had no room for all of it.
	Truncated bool
}
