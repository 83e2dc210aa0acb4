// Package tools gives the agent four tools over MCP for the memory of its room:
//
//	memory_search(query, maxResults, minScore)  finds notes
//	memory_get(path, from, lines)               reads on where a search found something
//	memory_add(kind, text, quote)               notes what the person of the task has said
//	memory_replace(old, text, quote)            corrects a note or an answer in the person's words
//
// The room is the one whose socket a request came through (see sandbox/gateway), never an argument. There is nothing to
// log in to and no session: each request stands for itself, so a bot may restart while a run continues. The tools reach
// only the index and the notes of the room: no path reaches a file of the host.
package tools
