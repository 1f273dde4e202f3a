package main

import (
	"errors"
	"fmt"
)

// least is what every release must name.
const least = "image: { name: registry.example/prony:0.1.0 }\nagents: { labKey: abc }\n"

// values are least, with some more below the same keys.
func values(more string) string {
	return "image: { name: registry.example/prony:0.1.0 }\n" + more
}

// cases are releases, and what must be true of each; or why its values are refused.
var cases = []struct {
	name    string
	values  string
	refused string
	check   func([]object, string) error
}{
	{name: "defaults", values: least, check: func(objects []object, notes string) error {
		if kinds := count(objects); kinds != "ConfigMap:1 NetworkPolicy:2 PodDisruptionBudget:1 Service:2 StatefulSet:2" {
			return errors.New(kinds)
		}
		lab, err := words(objects, "load-prony-lab")
		if err != nil {
			return err
		}
		if err := expect(lab, []string{"--listen 127.0.0.1:3000", "--nats tls://load-nats:4222", "--data /var/lib/prony "}, []string{"--database", "--behind-proxy"}); err != nil {
			return err
		}
		agent, err := words(objects, "load-prony-agents")
		if err != nil {
			return err
		}
		if err := expect(agent, []string{"--name $(PRONY_AGENT_NAME) --nats tls://load-nats:4222"}, nil); err != nil {
			return err
		}
		return expect(notes, []string{"port-forward load-prony-lab-0", "They refuse every load", "avoid.labels"}, nil)
	}},
	{name: "PostgreSQL and TLS", values: values(`
lab:
  expose: tls
  tlsSecret: lab-tls
  hosts: [lab.example.org]
  publicAddress: https://lab.example.org
  podDisruptionBudget: true
  postgresql:
    enabled: true
    url: postgres://ci@db.example/lab?sslrootcert=/etc/prony-postgresql/ca.crt
    passwordSecret: { name: lab-database, key: password }
    caSecret: lab-database-ca
agents: { labKey: abc, policy: "private = true", persistence: { enabled: true } }
avoid: { labels: { app: web } }
`), check: func(objects []object, notes string) error {
		lab, err := words(objects, "load-prony-lab")
		if err != nil {
			return err
		}
		if err := expect(lab, []string{"--listen 0.0.0.0:3000", "--tls-certificate /etc/prony-tls/tls.crt", "--host lab.example.org", "--database postgres://ci@db.example/lab"}, []string{"--behind-proxy"}); err != nil {
			return err
		}
		for _, name := range []string{"load-prony-lab", "load-prony-agents"} {
			pod, err := pod(objects, name)
			if err != nil {
				return err
			}
			if pod.Affinity == nil || len(pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) != 1 {
				return fmt.Errorf("%s may run beside the server", name)
			}
		}
		return expect(notes, []string{"lab.example.org"}, []string{"They refuse every load", "avoid.labels", "port-forward"})
	}},
	{name: "a proxy, a claim that is there, no agents", values: values(`
lab:
  expose: proxy
  proxies: ["10.0.0.7", "fd00::7"]
  hosts: [lab.example.org]
  keysSecret: ""
  persistence: { existingClaim: lab }
nats: { enabled: false }
agents: { enabled: false }
`), check: func(objects []object, _ string) error {
		if kinds := count(objects); kinds != "NetworkPolicy:1 Service:1 StatefulSet:1" {
			return errors.New(kinds)
		}
		lab, err := words(objects, "load-prony-lab")
		if err != nil {
			return err
		}
		return expect(lab, []string{"--behind-proxy --proxy 10.0.0.7 --proxy fd00::7"}, []string{"--nats", "--tls-certificate"})
	}},
	{name: "agents alone, of another broker", values: values(`
lab: { enabled: false }
nats: { enabled: false }
broker: { url: "tls://nats.example:4333" }
agents: { labKey: abc, replicas: 7 }
`), check: func(objects []object, _ string) error {
		if kinds := count(objects); kinds != "ConfigMap:1 NetworkPolicy:1 PodDisruptionBudget:1 Service:1 StatefulSet:1" {
			return errors.New(kinds)
		}
		agent, err := words(objects, "load-prony-agents")
		if err != nil {
			return err
		}
		return expect(agent, []string{"tls://nats.example:4333"}, nil)
	}},
	{name: "no image", values: "agents: { labKey: abc }", refused: "/image/name"},
	{name: "no key of the controller", values: values(""), refused: "agents.labKey"},
	{name: "no broker", values: least + "nats: { enabled: false }", refused: "name a broker"},
	{name: "two brokers", values: least + "broker: { url: tls://nats.example }", refused: "two brokers"},
	{name: "a broker without TLS", values: least + "broker: { url: nats://nats.example }", refused: "/broker/url"},
	{name: "a password in the database's address", values: least + "lab: { postgresql: { enabled: true, url: postgres://ci:secret@db/lab } }", refused: "/lab/postgresql/url"},
	{name: "no address of the database", values: least + "lab: { postgresql: { enabled: true } }", refused: "must name the database"},
	{name: "TLS without a certificate", values: least + "lab: { expose: tls, hosts: [lab] }", refused: "lab.tlsSecret"},
	{name: "a proxy without an address", values: least + "lab: { expose: proxy, hosts: [lab] }", refused: "lab.proxies"},
	{name: "a lab without a name", values: least + "lab: { expose: tls, tlsSecret: x }", refused: "lab.hosts"},
	{name: "in the clear, for all", values: least + "lab: { expose: all }", refused: "/lab/expose"},
	{name: "half a CPU", values: values("agents: { labKey: abc, resources: { cpu: 0.5 } }"), refused: "/agents/resources/cpu"},
	{name: "an unknown value", values: values("agents: { labKey: abc, replica: 3 }"), refused: "replica"},
	{name: "YAML in a name", values: least + "lab: { tlsSecret: \"x\\n  y: z\" }", refused: "/lab/tlsSecret"},
}
