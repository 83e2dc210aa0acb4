package agent

import _ "embed"

// liftScript removes restrictions that Gemini CLI (0.61.0) puts on unattended agents.
// The container is the security boundary; inside it they only stop people from getting
// what they asked for. --approval-mode=yolo allows all tools but ask_user, and still
// refuses, whatever the settings and policies say:
//
//   - write_file, replace and similar tools on build files (go.mod,
//     package.json, Makefile, Dockerfile, …): isBuildFile, asked after all rules.
//   - Commands with $(…), `…`, <(…) or >(…): detectCommandSubstitution.
//   - Files in .git and node_modules, .env and gha-creds-*.json, for all tools
//     that take a path: hasBlockedPathSegment.
//   - web_fetch of any host, because a container has no DNS to show that a host
//     is public: isPrivateIp. The gateway reaches public addresses only.
//   - Git's settings, for commands: the user's and the system's are hidden, and
//     credentials, hooks, ssh and editors are turned off. Nobody can commit,
//     because no author is set.
//
// The first four are functions that return a boolean: when the CLI is loaded, the
// script inserts a first statement that returns false. The image's compile cache is
// filled with the same script loaded, so that nothing is compiled again. A function
// that is not found in its known form is left alone.
//
// What remains is what the agent can do without: ask_user, and files outside /workspace
// and web_fetch of localhost, for which it has a shell.
//
//go:embed lift.cjs
var liftScript string
