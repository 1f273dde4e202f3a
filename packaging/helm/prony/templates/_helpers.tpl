{{/* The name of the release, once. */}}
{{- define "prony.name" -}}
{{- if contains "prony" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-prony" (.Release.Name | trunc 34 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{/* What an object is selected by: (dict "root" $ "component" "lab") */}}
{{- define "prony.selector" -}}
app.kubernetes.io/name: prony
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "prony.labels" -}}
{{ include "prony.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{/* Where the broker is. */}}
{{- define "prony.broker" -}}
{{- if .Values.nats.enabled -}}
{{- if .Values.broker.url }}{{ fail "broker.url and nats.enabled name two brokers: leave out one of them" }}{{ end -}}
{{- if contains "nats" .Release.Name -}}
tls://{{ .Release.Name }}:4222
{{- else -}}
tls://{{ .Release.Name }}-nats:4222
{{- end -}}
{{- else -}}
{{- required "name a broker, broker.url=tls://HOST:4222, or have one: nats.enabled=true" .Values.broker.url -}}
{{- end -}}
{{- end -}}

{{/* Requests and limits are the same, and CPUs whole: the class Guaranteed. */}}
{{- define "prony.resources" -}}
requests:
  cpu: {{ .cpu | quote }}
  memory: {{ .memory | quote }}
limits:
  cpu: {{ .cpu | quote }}
  memory: {{ .memory | quote }}
{{- end -}}

{{- define "prony.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* What all pods have in common: no rights, and places that are not the servers'. */}}
{{- define "prony.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65534
  runAsGroup: 65534
  fsGroup: 65534
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . | quote }}
{{- end }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "prony.selector" . | nindent 8 }}
{{- with .root.Values.avoid.labels }}
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- toYaml . | nindent 12 }}
        namespaceSelector: {}
{{- end }}
{{- end -}}

{{/* By TCP, everything but metadata services. */}}
{{- define "prony.anywhere" -}}
- namespaceSelector: {}
- ipBlock:
    cidr: 0.0.0.0/0
    except: [169.254.0.0/16]
- ipBlock:
    cidr: ::/0
    except: [fe80::/10]
{{- end -}}
