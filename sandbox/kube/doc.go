// Package kube runs the rooms' sandboxes on Kubernetes: each room has a Sandbox of kubernetes-sigs/agent-sandbox, and
// two persistent volumes. Cluster is the [sandbox.Engine] for that.
//
// A pod has no secret of the bot, and reaches nothing but the bot's door ([Door]): a relay in the pod, which the agent
// cannot read, joins each connection to it over TLS, and proves which pod it is in with a token of the cluster. The bot
// learns the room from the pod, never from what the connection says.
package kube
