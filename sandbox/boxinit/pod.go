package boxinit

import (
	"net"
	"os"
	"strings"
)

// Pod is what differs for a container of a Kubernetes pod. It has a network interface, so the network is tried, and
// Kubernetes makes mounts of its own.
type Pod struct {
	// Closed are addresses, as "IP:port", at which nothing may answer. Some are always tried: see alwaysClosed.
	Closed []string `json:",omitempty"`
	// HostIDs says that the cluster has no user namespaces: any map of user and group IDs is accepted.
	HostIDs bool `json:",omitempty"`
	// AnySeccomp says that the profile is the runtime's default one. It must refuse refusedCalls.
	AnySeccomp bool `json:",omitempty"`
}

// PodEnv is the environment variable which says that PID 1 is in a pod: then the network is tried before the first run
// asks. Its value may list addresses of [Pod.Closed], separated by commas.
const PodEnv = "MATRIX_TUI_POD"

// apiServer are the environment variables with which kubelet tells each container where the API server is.
var apiServer = [2]string{"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}

// serviceAccount is where a pod finds a token for the API server.
const serviceAccount = "run/secrets/kubernetes.io/serviceaccount/token"

// inFiles lists what the files below root show that must not be so in a pod.
func (p *Pod) inFiles(root string) (weak []string) {
	for _, path := range []string{serviceAccount, "var/" + serviceAccount} {
		if _, err := os.Stat(root + path); err == nil {
			weak = append(weak, "there is a token of a service account, /"+path)
		}
	}
	// In a shared PID namespace, the agent finds the files of the other containers of its pod in /proc.
	if name, _ := os.ReadFile(root + "proc/1/comm"); strings.TrimSpace(string(name)) != "boxinit" {
		weak = append(weak, "PID 1 is not boxinit: the container shares its processes")
	}
	return weak
}

// fromEnv returns the API server's address, as the process was told it at its start; "" = it was not.
func fromEnv() string {
	host, port := os.Getenv(apiServer[0]), os.Getenv(apiServer[1])
	if net.ParseIP(host) == nil || port == "" { // no name: looking it up would need the network
		return ""
	}
	return net.JoinHostPort(host, port)
}
