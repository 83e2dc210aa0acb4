package settings

import (
	"net"
	"net/netip"
	"os"
)

// Engines that run rooms' sandboxes.
const (
	Podman     Engine = "podman"
	Kubernetes Engine = "kubernetes"
)

// Engine says what runs rooms' sandboxes.
type Engine string

// UnmarshalText reads one of the engines.
func (e *Engine) UnmarshalText(text []byte) error { return oneOf(e, text, Podman, Kubernetes) }

// Address is an IP address and a port.
type Address string

// UnmarshalText reads an address that needs no resolver.
func (a *Address) UnmarshalText(text []byte) error {
	at, err := netip.ParseAddrPort(string(text))
	if err != nil || at.Port() == 0 || at.Addr().IsUnspecified() {
		return errValue
	}
	*a = Address(at.String())
	return nil
}

// doorService is what a cluster's variables for a Service named matrix-tui-door begin with.
const doorService = "MATRIX_TUI_DOOR_SERVICE_"

// Door returns the address at which pods reach the bot: the setting, or that of the cluster's Service named
// matrix-tui-door, which the cluster puts into the bot's environment. It is "" if neither is set.
func (c *Config) Door() string {
	host, port := os.Getenv(doorService+"HOST"), os.Getenv(doorService+"PORT")
	if c.KubeDoor != "" || host == "" {
		return string(c.KubeDoor)
	}
	return net.JoinHostPort(host, port)
}

// RuntimeClass returns the class of rooms' pods, "" = the cluster's default.
func (c *Config) RuntimeClass() string {
	if c.KubeRuntimeClass == "" && c.Runtime != "" {
		return "gvisor" // as gVisor's documentation and clouds call it
	}
	return string(c.KubeRuntimeClass)
}

// kubeConflicts finds what would keep the bot from running anything in pods.
func kubeConflicts(cfg *Config) (problems []string) {
	if cfg.Engine != Kubernetes {
		return nil
	}
	if cfg.KubeRuntimeClass == "gvisor" && cfg.Runtime == "" {
		problems = append(problems, "KUBE_RUNTIME_CLASS is gvisor but SANDBOX_RUNTIME is not set, so the bot would refuse "+
			"to run anything in rooms' pods; expected SANDBOX_RUNTIME=runsc")
	}
	if cfg.Door() == "" {
		problems = append(problems, "SANDBOX_ENGINE is kubernetes but KUBE_DOOR is not set, and there is no Service named "+
			"matrix-tui-door; expected "+RightFor("KUBE_DOOR"))
	}
	return problems
}
