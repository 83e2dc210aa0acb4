package agent

import _ "embed"

// liftScript takes back what Gemini CLI (0.61.0) keeps from an agent that nobody
// watches. A container is the boundary here; inside of it that only keeps people from
// what they asked for. --approval-mode=yolo allows all tools but ask_user, and
// still refuses, with no setting and no policy that could say otherwise:
//
//   - write_file, replace and tools that sound like them, on build files (go.mod,
//     package.json, Makefile, Dockerfile, …): isBuildFile, asked after all rules.
//   - Commands with $(…), `…`, <(…) or >(…): detectCommandSubstitution.
//   - Files in .git and node_modules, .env and gha-creds-*.json, for all tools
//     that take a path: hasBlockedPathSegment.
//   - web_fetch of every host, because a container has no DNS to show that a host is a
//     public one: isPrivateIp. The gateway reaches public addresses only.
//   - Git's own settings, for commands: the user's and the system's are hidden,
//     and credentials, hooks, ssh and editors turned off. No commit can be made,
//     because nobody says who makes it.
//
// The first four are functions that answer yes or no: when the CLI is loaded, they
// get a first statement that says no. The image's compile cache is filled with
// the same script loaded, so that nothing is compiled anew. A function that is not
// found as it was stays as it is.
//
// What stays is what the agent can do without: ask_user, and files outside of
// /workspace and web_fetch of localhost, for which it has a shell.
//
//go:embed lift.cjs
var liftScript string
