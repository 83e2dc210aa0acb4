// Package tools gives the agent two tools over MCP with which it looks into the memory of its room:
//
//	memory_search(query, maxResults, minScore)  finds notes
//	memory_get(path, from, lines)               reads on where a search found something
//
// The room is the one whose socket a request came through (see sandbox/gateway), never an argument. There is nothing to
// log in to and no session: each request stands for itself, so a bot may restart while a run continues. The tools only
// read, and only the index: no path reaches a file of the host.
package tools
