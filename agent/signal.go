package agent

// The markers of a signal.
const (
	needInput = "<<<NEED_INPUT>>>"
	inContext = "<<<CONTEXT>>>"
	endInput  = "<<<END_INPUT>>>"
)

// MaxQuestion bounds a question and its context, in bytes each.
const MaxQuestion = 64 << 10

// MaxDraft bounds the text of an EventText, in bytes.
const MaxDraft = 2 << 10

// Instruction tells the agent how to ask a person. It is part of every prompt.
const Instruction = "When you lack a fact, a decision or a permission that only a person can give, do not guess and " +
	"do not choose for them. " +
	"Stop there: call no further tool, and end your answer with a question of exactly this form, each marker alone on " +
	"its line, outside of any code block:\n\n" +
	needInput + "\nthe question; when there are choices, one a line, as 1. 2. 3.\n" +
	inContext + "\nin a sentence or two, what you were doing and why you cannot go on\n" +
	endInput + "\n\n" +
	"The answer comes with the next message; go on from there. Never write these markers for anything else.\n"

// SignalKind says whether a text contains a question.
type SignalKind string

const (
	// NoSignal: no question.
	NoSignal SignalKind = ""
	// Asked: a complete question.
	Asked SignalKind = "asked"
	// CutOff: the text ends inside a question.
	CutOff SignalKind = "cut_off"
)

// Signal is the question in an assistant's text.
type Signal struct {
	Kind              SignalKind
	Question, Context string // with Asked; Context may be ""
	// With Asked, Before is the text before the signal in its message, and After
	// everything after it; like the other two, they contain no marker outside of code
	// and quotations. Otherwise Before is the last message, unchanged.
	Before, After string
	// Truncated reports that one of the four was cut.
	Truncated bool
}
