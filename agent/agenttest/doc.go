// Package agenttest is a server of the Gemini API that answers from a script instead of a model. Tests put it
// in the place of Google's server, and the demo uses it where there is no API key.
//
// It knows generateContent, streamGenerateContent (SSE with alt=sse, else a JSON array), countTokens,
// embedContent, batchEmbedContents and GET models. It never thinks, never calls out, and keeps no more of what
// it was sent than a bounded log.
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
//	    chunk_delay: 100ms                     # … with a pause before each but the first
//	    say: 'one two three four five'
//	  - when: 'too much'
//	    times: 1                               # used once; the CLI's retry sees the next rule
//	    status: 429
//	    retry_after: 1s
//	  - when: 'too much'
//	    say: 'now it worked'
//	default: {say: 'scripted answer'}          # when no rule matches
//
// What a rule matches; all that are given must match, as Go regular expressions:
//
//   - when: the newest user text, that is the text parts of the last content with role user that has one.
//     Where the request ends with function responses, a rule with when but without tool does not match: the
//     user said nothing new. The text is the whole prompt of the bot, wrapper and all, but without the
//     <session_context> that Gemini CLI puts before the first one (it lists the files of the folder).
//   - tool: the function responses that end the request, one line each: name, a space, the response as JSON.
//     With when beside it, the newest user text before them must match too.
//   - system: the system instruction.
//   - sent: everything the request holds, system instruction and history included.
//
// A rule with neither when nor tool matches both kinds of requests.
//
// What a rule answers: say (text) and call (function calls) alone or together; say_repeat {text, bytes} for
// bulk ({{n}} in it counts; without that Gemini CLI sees a loop and stops); empty: true (an answer without
// parts); finish (another finishReason than STOP); status with body and retry_after (an HTTP error in Google's
// shape, or body as it stands if it is JSON); break: true (the answer's last chunk is cut in the middle, and the
// connection with it); garbage: true (bytes that are not JSON); hang (silence, then the answer, or a cut
// connection where the rule has none). In say, in body and in the strings of call's args, {{1}} is the first
// submatch of when, or of tool in a rule without when; {{0}} is the whole match.
//
// Requests of Gemini CLI on its own account use up no rules that are meant for the user's:
//
//   - Questions for JSON (who speaks next, is this a loop) carry responseMimeType application/json. They see only
//     rules with json: true; without one they get the smallest value that fits the schema they bring.
//   - The digest of a long history (its prompt names <state_snapshot>) sees only rules with when.
//
// Others look like the user's: after an empty answer and after a loop the CLI goes on with a user text of its own
// that begins with "System: " or ends with "[System: …]", the user's words before it where they were not answered.
//
// What the CLI (0.61.0, maxAttempts 3) makes of failures: 429 and 5xx are retried after about 5 s; an empty answer
// after 1 s; garbage ends the run; a cut stream ends the run when it was chunked, and is retried when the
// connection's end was the body's.
package agenttest
