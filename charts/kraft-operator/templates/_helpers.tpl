{{- define "kraft-operator.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "kraft-operator.selector" -}}
app.kubernetes.io/name: kraft-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kraft-operator.labels" -}}
{{ include "kraft-operator.selector" . }}
app.kubernetes.io/part-of: kraft-operator
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "kraft-operator.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "kraft-operator.name" .) -}}
{{- end -}}

{{- define "kraft-operator.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository $tag -}}
{{- end -}}
{{- end -}}

{{/* What the operator does in the namespaces of its clusters. No wildcards; of Secrets, only those whose
# names it knows. */}}
{{- define "kraft-operator.namespacedRules" -}}
- apiGroups: [kraft.quorate.dev]
  resources: [kraftclusters, kraftoperations, kraftusers]
  verbs: [get, list, watch]
- apiGroups: [kraft.quorate.dev]
  resources: [kraftoperations]
  verbs: [delete]
- apiGroups: [kraft.quorate.dev]
  resources: [kraftclusters/status, kraftoperations/status, kraftusers/status]
  verbs: [get, patch]
- apiGroups: [kraft.quorate.dev]
  resources: [kraftclusters/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [services, configmaps]
  verbs: [get, list, watch, create, update, patch, delete]
# By name only: neither list nor watch, and none is deleted. Secrets of secure clusters and of their users.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, update, patch]
# What is asked of cert-manager (security.tls.issuer: CertManager), by name only.
- apiGroups: [cert-manager.io]
  resources: [certificates]
  verbs: [get, create, patch]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies, ingresses]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [batch]
  resources: [cronjobs]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [get, list, create, patch]
{{- end -}}
