// Package agenttest serves the Gemini API and answers from a script instead of a model. Tests use it in place of
// Google's server, and the demo uses it when there is no API key.
//
// It supports generateContent, streamGenerateContent (SSE with alt=sse, otherwise a JSON array), countTokens,
// embedContent, batchEmbedContents and GET models; alt=proto answers in binary. It never thinks, never makes a request
// of its own, and keeps only a bounded log of what it was sent.
//
// It is at least as strict as Google's API, in every script: what it lets pass would prove nothing. Where the API's
// behaviour is uncertain, it refuses. What it refused is in its log of requests (Request.Refused), and fails a
// conversation script unless the script says model-refuses. The table at the end lists the facts.
//
// A script is YAML. The first rule that matches answers:
//
//	rules:
//	  - when: 'write a prime checker for (\w+)'
//	    call:                                  # several entries are parallel calls
//	      - name: write_file
//	        args: {file_path: /workspace/utils.py, content: "# {{1}}\n"}
//	  - tool: '^write_file .*utils\.py'
//	    say: 'Created utils.py.'
//	  - when: 'be slow'
//	    delay: 2s                              # before the first byte
//	    chunks: 5                              # the text in five pieces …
//	    chunk_delay: 100ms                     # … with a pause before each except the first
//	    say: 'one two three four five'
//	  - when: 'too much'
//	    times: 1                               # used once; the CLI's retry sees the next rule
//	    status: 429
//	    retry_after: 1s
//	  - when: 'too much'
//	    say: 'now it worked'
//	  - model: flash
//	    refuse: day                            # what the API says to a key whose quota is used up
//	    retry_after: 3h
//	models:                                    # what the API lists; without it, the models of a new key in autumn 2026
//	  - {name: gemini-3.1-pro-preview}
//	  - {name: gemini-pro-latest, is: gemini-3.1-pro-preview}
//	  - {name: gemini-2.5-pro, refuses: closed} # listed and described, but every request is refused
//	default: {say: 'scripted answer'}          # if no rule matches
//	embeddings: {same: ['car automobile']}     # words that mean the same; or status: 503, or delay: 2s, or refuse: walrus (400)
//
// Conditions are Go regular expressions. All conditions of a rule must match:
//
//   - when: the newest user text, that is, the text parts of the last content with role user that has any. If the
//     request ends with function responses, a rule with when but without tool does not match, because the user said
//     nothing new. The text is the bot's whole prompt, without the <session_context> that Gemini CLI puts before the
//     first one (it lists the files in the directory).
//   - tool: the function responses at the end of the request, one line each: name, a space, the response as JSON. If
//     the rule also has when, the newest user text before them must match too.
//   - system: the system instruction.
//   - sent: everything in the request, including system instruction and history.
//   - model: the name of the model that is asked.
//
// A rule with neither when nor tool matches both kinds of requests.
//
// Answers exclude each other, except that think, say (or say_repeat) and call may be together:
//
//   - think: a thought part. Alone, the answer consists of thoughts only.
//   - say: text; say_repeat {text, bytes}: long text ({{n}} in it counts; without it Gemini CLI detects a loop and
//     stops).
//   - call: function calls in one content. Each has an ID, the first has the signature.
//   - empty: true (content without parts), no_content: true (a candidate without content), block: SAFETY (a prompt that
//     is blocked: no candidates).
//   - refuse: key, closed, region, minute, day or overload, in Google's words and with its details; retry_after changes
//     the 41 s of a quota.
//   - status with body and retry_after: any other HTTP error, or body itself if it is JSON.
//   - garbage: true (bytes that are not JSON); hang (silence, then the answer, or a cut connection if the rule has
//     none); break: true (cuts the last chunk in the middle, and the connection with it).
//
// With an answer: finish (a finishReason other than STOP; none ends the stream without any), and for its usage, which
// each chunk has: tokens (of the request), cached (of them), thoughts (of thinking) and tool_tokens (of what tools of
// the API read). In think, say, body and the strings of call's args, {{1}} is the first submatch of when, or of tool in
// a rule without when; {{0}} is the whole match.
//
// Requests that Gemini CLI makes for its own purposes do not use up rules meant for the user's:
//
//   - Requests for JSON (who speaks next, is this a loop) carry responseMimeType application/json. Only rules with
//     json: true see them; without such a rule they get the smallest value that fits their schema.
//   - Only rules with when see the summary of a long history (its prompt mentions <state_snapshot>).
//
// Others look like the user's: after an empty answer and after a loop, the CLI continues with a user text of its own
// that begins with "System: " or ends with "[System: …]". The user's words precede it if they were not answered.
//
// How the CLI (0.61.0, maxAttempts 3) handles failures: it retries 429 and 5xx after about 5 s and an empty answer
// after 1 s. Garbage ends the run. A cut stream ends the run if it was chunked, and is retried if the end of the
// connection was the end of the body.
//
// # What the API does, who says so, and what shows how the product deals with it
//
// The scripts are in cmd/matrix-tui/testdata; tests without a package are this one's.
//
// Refused requests (400 INVALID_ARGUMENT unless stated):
//
//	calls and responses do not pair up      google-gemini/gemini-cli#16543, #16437, #6638    TestHistories; agent TestRealSession, TestRealQuestion, TestRealApproval; scripts sessions, sessions-killed
//	results sent twice by --resume          google-gemini/gemini-cli#29365                   agent TestRealSession, TestRealRemember, TestRealHistory; scripts sessions, backup, progress, reboot
//	turns out of order                      google-gemini/gemini-cli#16984, #5443            TestHistories; scripts sessions, sessions-killed
//	no signature in the current turn        QwenLM/qwen-code#1202, RooCodeInc/Roo-Code#10331 TestHistories, TestCallsComeBack; scripts sessions, sessions-killed
//	no parts, or an empty text alone        stackblitz-labs/bolt.diy#1714                    TestHistories; agent TestDecide; script model-answers
//	unknown field, enum or type             cloud.google.com/go/ai (published messages)      TestBodies; agent TestDecide; every script
//	names and schemas of functions          https://ai.google.dev/api/caching                TestDeclarations; script memory-tools
//	wrong key: API_KEY_INVALID, not 401     https://ai.google.dev/gemini-api/docs/troubleshooting  TestKey, TestRefusals; cmd/matrix-tui TestCheckModels; script model-trouble
//	region: FAILED_PRECONDITION             https://ai.google.dev/gemini-api/docs/troubleshooting  TestRefusals; cmd/matrix-tui TestCheckModels
//	listed, but closed to new keys: 404     thedotmack/claude-mem#3278, crewAIInc/crewAI#7003      TestModels; bot/models TestRank, TestPick, TestReplace; script models
//	quota: 429 with QuotaFailure, RetryInfo openclaw/openclaw#18247, multica-ai/multica#7887       TestRefusals; sandbox/gateway TestGate; scripts quota, model-trouble
//	quota of zero: 429 with "limit: 0"      akshayaggarwal99/nodenest#1                            bot/models TestPick; agent TestDecide; script model-trouble
//	overload: 503 for minutes to hours      https://ai.google.dev/gemini-api/docs/troubleshooting  TestRefusals; sandbox/gateway TestGateAfter; script model-trouble
//
// Answers that are not text:
//
//	finish reasons, also without content    https://ai.google.dev/api/generate-content       TestAnswersThatAreNotText; agent TestWithFinish; scripts model-answers, overflow
//	blocked prompts                         https://ai.google.dev/api/generate-content       TestAnswersThatAreNotText; sandbox/gateway TestFinish; script model-answers
//	thoughts only                           https://ai.google.dev/api/generate-content       TestAnswersThatAreNotText; script model-answers
//	parallel calls, one signature           https://ai.google.dev/gemini-api/docs/thought-signatures  TestCallsComeBack; scripts model-answers, sessions
//	usage in each chunk, with thoughts      https://ai.google.dev/api/generate-content       TestAnswersThatAreNotText; sandbox/gateway TestTail; script usage
//	a stream that stops in mid-chunk        google-gemini/gemini-cli (mid-stream retries)    TestFailures; script model-answers
package agenttest
