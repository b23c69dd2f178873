{{/* Names, labels and metadata of the objects of a hub. */}}

{{- define "sidegate-hub.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := .Values.fullnameOverride | default (contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name)) -}}
{{- /* A DNS label has 63 characters; this leaves room for the longest suffix. */ -}}
{{- $full | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "sidegate-hub.selectorLabels" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "sidegate-hub.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "sidegate-hub.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/*
An object's metadata: (dict "root" .), and optionally "name" (default: the release's), "labels" and
"annotations", which win over the common ones.
*/}}
{{- define "sidegate-hub.metadata" -}}
name: {{ .name | default (include "sidegate-hub.fullname" .root) | quote }}
namespace: {{ .root.Release.Namespace | quote }}
labels:
  {{- $common := .root.Values.commonLabels | default dict }}
  {{- toYaml (mergeOverwrite (include "sidegate-hub.ownLabels" .root | fromYaml) $common (.labels | default dict)) | nindent 2 }}
{{- with mergeOverwrite dict (.root.Values.commonAnnotations | default dict) (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "sidegate-hub.rulesConfigMap" -}}
{{- if .Values.rules.existingConfigMap -}}
{{ .Values.rules.existingConfigMap }}
{{- else if .Values.rules.files -}}
{{ include "sidegate-hub.fullname" . }}-rules
{{- end -}}
{{- end -}}

{{- define "sidegate-hub.pricesConfigMap" -}}
{{- if .Values.prices.existingConfigMap -}}
{{ .Values.prices.existingConfigMap }}
{{- else if .Values.prices.file -}}
{{ include "sidegate-hub.fullname" . }}-prices
{{- end -}}
{{- end -}}

{{- define "sidegate-hub.hasClusterKeys" -}}
{{- if or .Values.clusterKeys.fetch .Values.clusterKeys.existingConfigMap -}}yes{{- end -}}
{{- end -}}
