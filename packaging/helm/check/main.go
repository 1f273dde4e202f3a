// Renders the chart with several values, and decodes every object strictly into the types of Kubernetes: an unknown field, a
// wrong type or a missing dependency of values fails. The bundle of `prony run --k8s` is decoded in the same way.
//
//	check CHART            the chart with each case of cases.go
//	check CHART CASE       print what one case renders, for kubectl create --dry-run=server -f -
//	check - < BUNDLE       the objects on stdin, in JSON or YAML
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// Bytes of a bundle at most: three Secrets of 1 MiB, and some more.
const inputMax = 8 << 20

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "-":
		err = checkInput(os.Stdin)
	case len(os.Args) == 2:
		err = checkChart(os.Args[1])
	case len(os.Args) == 3:
		err = printCase(os.Args[1], os.Args[2])
	default:
		err = errors.New("usage: check CHART [CASE], or check - < BUNDLE")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func checkInput(input io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(input, inputMax))
	if err != nil {
		return err
	}
	var list struct {
		Items []map[string]any `json:"items"`
	}
	if err := yaml.Unmarshal(text, &list); err != nil {
		return err
	}
	objects := []object{}
	for _, item := range list.Items {
		text, err := yaml.Marshal(item)
		if err != nil {
			return err
		}
		object, err := decode(string(text))
		if err != nil {
			return err
		}
		objects = append(objects, object)
	}
	if len(objects) == 0 {
		return errors.New("there are no objects")
	}
	if err := checkObjects(objects); err != nil {
		return err
	}
	fmt.Printf("%d objects: every field is known, every pod has no rights and fixed resources\n", len(objects))
	return nil
}

// load reads the chart, without the upstream chart of NATS, which `helm dependency build` fetches.
func load(folder string) (*chart.Chart, error) {
	prony, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	prony.Metadata.Dependencies = nil
	return prony, prony.Validate()
}

func printCase(folder string, name string) error {
	prony, err := load(folder)
	if err != nil {
		return err
	}
	for _, one := range cases {
		if one.name != name {
			continue
		}
		objects, _, err := render(prony, one.values)
		if err != nil {
			return err
		}
		for _, it := range objects {
			text, err := yaml.Marshal(it.body)
			if err != nil {
				return err
			}
			fmt.Printf("---\n%s", text)
		}
		return nil
	}
	return fmt.Errorf("there is no case %q", name)
}

func checkChart(folder string) error {
	prony, err := load(folder)
	if err != nil {
		return err
	}
	rendered := 0
	for _, one := range cases {
		if one.refused == "" {
			if err := lintChart(folder, one.values); err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
		}
		objects, notes, err := render(prony, one.values)
		if one.refused != "" {
			if err == nil || !strings.Contains(err.Error(), one.refused) {
				return fmt.Errorf("%s: expected an error with %q, got %v", one.name, one.refused, err)
			}
			continue
		}
		if err == nil {
			err = checkObjects(objects)
		}
		if err == nil {
			err = one.check(objects, notes)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		rendered += len(objects)
	}
	fmt.Printf("%d cases passed, 0 failed: %d objects\n", len(cases), rendered)
	return nil
}

// lintChart does what `helm lint` does. A warning is no error: the upstream chart of NATS is not there.
func lintChart(folder string, text string) error {
	values, err := chartutil.ReadValues([]byte(text))
	if err != nil {
		return err
	}
	linter := lint.AllWithKubeVersion(folder, values, "tests", nil)
	for _, message := range linter.Messages {
		if message.Severity >= support.ErrorSev {
			return message
		}
	}
	return nil
}

// render makes the objects of one release.
func render(prony *chart.Chart, text string) ([]object, string, error) {
	values, err := chartutil.ReadValues([]byte(text))
	if err != nil {
		return nil, "", err
	}
	options := chartutil.ReleaseOptions{Name: "load", Namespace: "tests", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(prony, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, "", err
	}
	files, err := engine.Engine{Strict: true}.Render(prony, all)
	if err != nil {
		return nil, "", err
	}
	names := []string{}
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	objects, notes := []object{}, ""
	for _, name := range names {
		if strings.HasSuffix(name, "NOTES.txt") {
			notes = files[name]
			continue
		}
		for _, document := range strings.Split(files[name], "\n---") {
			if strings.TrimSpace(document) == "" {
				continue
			}
			object, err := decode(document)
			if err != nil {
				return nil, "", fmt.Errorf("%s: %w\n%s", name, err, document)
			}
			objects = append(objects, object)
		}
	}
	return objects, notes, nil
}

// object is one of Kubernetes, and its pods, if it has any.
type object struct {
	kind string
	name string
	body any
	pod  *corev1.PodSpec
}

// decode reads an object; a field that its type does not have is an error.
func decode(text string) (object, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name   string            `json:"name"`
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		return object{}, err
	}
	if head.Metadata.Name == "" || head.Metadata.Labels["app.kubernetes.io/name"] != "prony" {
		return object{}, fmt.Errorf("%s: no name, or not labelled", head.Kind)
	}
	it := object{kind: head.Kind, name: head.Metadata.Name}
	switch head.APIVersion + " " + head.Kind {
	case "apps/v1 StatefulSet":
		it.body = &appsv1.StatefulSet{}
	case "batch/v1 Job":
		it.body = &batchv1.Job{}
	case "v1 ConfigMap":
		it.body = &corev1.ConfigMap{}
	case "v1 Secret":
		it.body = &corev1.Secret{}
	case "v1 Service":
		it.body = &corev1.Service{}
	case "networking.k8s.io/v1 NetworkPolicy":
		it.body = &networkingv1.NetworkPolicy{}
	case "policy/v1 PodDisruptionBudget":
		it.body = &policyv1.PodDisruptionBudget{}
	default:
		return object{}, fmt.Errorf("unexpected: %s %s", head.APIVersion, head.Kind)
	}
	if err := yaml.UnmarshalStrict([]byte(text), it.body); err != nil {
		return object{}, fmt.Errorf("%s %s: %w", it.kind, it.name, err)
	}
	switch body := it.body.(type) {
	case *appsv1.StatefulSet:
		it.pod = &body.Spec.Template.Spec
	case *batchv1.Job:
		it.pod = &body.Spec.Template.Spec
	}
	return it, nil
}

// checkObjects is what holds for all of them.
func checkObjects(objects []object) error {
	for _, it := range objects {
		if it.pod == nil {
			continue
		}
		if err := checkPod(it.pod); err != nil {
			return fmt.Errorf("%s %s: %w", it.kind, it.name, err)
		}
	}
	return nil
}

// checkPod holds a pod against the standard "restricted", and against what is promised beside it.
func checkPod(pod *corev1.PodSpec) error {
	security := pod.SecurityContext
	switch {
	case pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken:
		return errors.New("it has a token of the API server")
	case security == nil || security.RunAsNonRoot == nil || !*security.RunAsNonRoot || *security.RunAsUser == 0:
		return errors.New("it runs as root")
	case security.SeccompProfile == nil || security.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
		return errors.New("it has no seccomp profile")
	case pod.HostNetwork || pod.HostPID || pod.HostIPC:
		return errors.New("it has the host's namespaces")
	case len(pod.TopologySpreadConstraints) != 1:
		return errors.New("it is not spread over nodes")
	}
	volumes := map[string]bool{}
	for _, volume := range pod.Volumes {
		volumes[volume.Name] = true
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		security := container.SecurityContext
		switch {
		case security == nil || *security.AllowPrivilegeEscalation || !*security.ReadOnlyRootFilesystem:
			return fmt.Errorf("%s may write or get rights", container.Name)
		case len(security.Capabilities.Drop) != 1 || security.Capabilities.Drop[0] != "ALL":
			return fmt.Errorf("%s has capabilities", container.Name)
		case container.Image == "":
			return fmt.Errorf("%s has no image", container.Name)
		}
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := container.Resources.Requests[name], container.Resources.Limits[name]
			if request.IsZero() || request.Cmp(limit) != 0 {
				return fmt.Errorf("%s is not of the class Guaranteed: %s", container.Name, name)
			}
		}
		if cpu := container.Resources.Limits[corev1.ResourceCPU]; cpu.MilliValue()%1000 != 0 {
			return fmt.Errorf("%s has a part of a CPU", container.Name)
		}
		for _, mount := range container.VolumeMounts {
			// `data` and `state` may be claims of a StatefulSet.
			if !volumes[mount.Name] && mount.Name != "data" && mount.Name != "state" {
				return fmt.Errorf("%s mounts %s, which is no volume", container.Name, mount.Name)
			}
		}
		for _, variable := range container.Env {
			if strings.Contains(strings.ToUpper(variable.Name), "PASSWORD") && variable.Value != "" {
				return fmt.Errorf("%s has a password as a value", container.Name)
			}
		}
	}
	return nil
}

// pod is that of the object with this name.
func pod(objects []object, name string) (*corev1.PodSpec, error) {
	for _, it := range objects {
		if it.name == name && it.pod != nil {
			return it.pod, nil
		}
	}
	return nil, fmt.Errorf("there are no pods of %s", name)
}

// words of the first container of the object with this name.
func words(objects []object, name string) (string, error) {
	pod, err := pod(objects, name)
	if err != nil {
		return "", err
	}
	return strings.Join(pod.Containers[0].Args, " "), nil
}

// count of objects of each kind, as text.
func count(objects []object) string {
	kinds := map[string]int{}
	for _, it := range objects {
		kinds[it.kind]++
	}
	names := []string{}
	for kind, number := range kinds {
		names = append(names, fmt.Sprintf("%s:%d", kind, number))
	}
	sort.Strings(names)
	return strings.Join(names, " ")
}

// expect compares a text with what must be in it and what must not.
func expect(text string, with []string, without []string) error {
	for _, part := range with {
		if !strings.Contains(text, part) {
			return fmt.Errorf("no %q in %q", part, text)
		}
	}
	for _, part := range without {
		if strings.Contains(text, part) {
			return fmt.Errorf("%q in %q", part, text)
		}
	}
	return nil
}
