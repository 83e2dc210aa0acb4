// Package agenttest serves the Gemini API and answers from a script instead of a model. Tests use it in place of Google's
// server, and the demo uses it when there is no API key.
//
// It supports generateContent, streamGenerateContent (SSE with alt=sse, otherwise a JSON array), countTokens,
// embedContent, batchEmbedContents and GET models. It never thinks, never makes a request of its own, and keeps only a
// bounded log of what it was sent.
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
//	default: {say: 'scripted answer'}          # if no rule matches
//	embeddings: {same: ['car automobile']}     # words that mean the same; or status: 503, or delay: 2s, or refuse: walrus (400)
//
// Conditions are Go regular expressions. All conditions of a rule must match:
//
//   - when: the newest user text, that is, the text parts of the last content with role user that has any. If the
//     request ends with function responses, a rule with when but without tool does not match, because the user said
//     nothing new. The text is the bot's whole prompt, without the <session_context> that Gemini CLI puts before the
//     first one (it lists the files in the directory).
//   - tool: the function responses at the end of the request, one line each: name, a space, the response as JSON. If the
//     rule also has when, the newest user text before them must match too.
//   - system: the system instruction.
//   - sent: everything in the request, including system instruction and history.
//
// A rule with neither when nor tool matches both kinds of requests.
//
// Answers: say (text) and call (function calls), alone or together; say_repeat {text, bytes} for long answers ({{n}} in it
// counts; without it Gemini CLI detects a loop and stops); tokens (how many the request is said
// to have); cached (how many of them the model is said to have cached); empty: true (an answer without parts); finish (a finishReason other than STOP); status with body and retry_after (an HTTP error in Google's format, or body itself if it is JSON);
// break: true (cuts the last chunk in the middle, and the connection with it); garbage: true (bytes that are not JSON);
// hang (silence, then the answer, or a cut connection if the rule has none). In say, body and the strings of call's args,
// {{1}} is the first submatch of when, or of tool in a rule without when; {{0}} is the whole match.
//
// Requests that Gemini CLI makes for its own purposes do not use up rules meant for the user's:
//
//   - Requests for JSON (who speaks next, is this a loop) carry responseMimeType application/json. Only rules with
//     json: true see them; without such a rule they get the smallest value that fits their schema.
//   - Only rules with when see the summary of a long history (its prompt mentions <state_snapshot>).
//
// Others look like the user's: after an empty answer and after a loop, the CLI continues with a user text of its own that
// begins with "System: " or ends with "[System: …]". The user's words precede it if they were not answered.
//
// How the CLI (0.61.0, maxAttempts 3) handles failures: it retries 429 and 5xx after about 5 s and an empty answer after
// 1 s. Garbage ends the run. A cut stream ends the run if it was chunked, and is retried if the end of the connection was
// the end of the body.
package agenttest
