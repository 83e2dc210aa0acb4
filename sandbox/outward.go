package sandbox

import (
	"net"

	"matrix-tui/sandbox/boxinit"
)

// Outward is the part of a run's environment with which programs find the way out of the container: the gateway's
// proxy. Most read one of the first six variables. The image has a file for Maven, which reads none.
func Outward() []string {
	const inside = "127.0.0.1,localhost,::1,[::1]" // node wants the brackets
	proxy := "http://" + boxinit.Door
	host, port, _ := net.SplitHostPort(boxinit.Door)
	return []string{
		"HTTP_PROXY=" + proxy, "http_proxy=" + proxy,
		"HTTPS_PROXY=" + proxy, "https_proxy=" + proxy,
		"NO_PROXY=" + inside, "no_proxy=" + inside,
		"YARN_HTTP_PROXY=" + proxy, "YARN_HTTPS_PROXY=" + proxy, // from version 2 on
		// Java, and what is made with it, such as Gradle. Each start of it prints this line; there is no quiet way.
		"JAVA_TOOL_OPTIONS=-Dhttp.proxyHost=" + host + " -Dhttp.proxyPort=" + port + " -Dhttps.proxyHost=" + host +
			" -Dhttps.proxyPort=" + port,
	}
}
