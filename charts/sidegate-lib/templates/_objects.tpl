{{/*
Names, labels and metadata of the objects of a chart. Each takes the chart's root, whose values have
nameOverride, fullnameOverride, commonLabels and commonAnnotations. They are not named after this
library, because `extraObjects` of the sidegate chart may include them.
*/}}

{{- define "sidegate.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := .Values.fullnameOverride | default (contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name)) -}}
{{- /* A DNS label has 63 characters; this leaves room for the longest suffix. */ -}}
{{- $full | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "sidegate.selectorLabels" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "sidegate.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "sidegate.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Labels with an object's own `labels`, which win: (dict "root" . "labels" LABELS). */}}
{{- define "sidegate.labels" -}}
{{- $common := .root.Values.commonLabels | default dict -}}
{{- toYaml (mergeOverwrite (include "sidegate.ownLabels" .root | fromYaml) $common (.labels | default dict)) -}}
{{- end -}}

{{/*
An object's metadata: (dict "root" .), and optionally "name" (default: the release's), "labels" and
"annotations", which win over the common ones, and "clusterScoped" for an object without a namespace.
*/}}
{{- define "sidegate.metadata" -}}
name: {{ .name | default (include "sidegate.fullname" .root) | quote }}
{{- if not .clusterScoped }}
namespace: {{ .root.Release.Namespace | quote }}
{{- end }}
labels:
  {{- include "sidegate.labels" . | nindent 2 }}
{{- with mergeOverwrite dict (.root.Values.commonAnnotations | default dict) (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
Refuses names of labels and annotations by which objects are selected: (dict "root" . "places" PLACES).
The labels or annotations of each value are by its name.
*/}}
{{- define "sidegate.nameChecks" -}}
{{- $own := concat (include "sidegate.ownLabels" .root | fromYaml | keys) (list "app.kubernetes.io/component" "sidegate.dev/config-checksum" "helm.sh/hook") -}}
{{- range $place, $names := .places -}}
{{- range $name, $_ := $names -}}
{{- if has $name $own -}}
{{- fail (printf "%s: %s is set by the chart; nameOverride changes names" $place $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
