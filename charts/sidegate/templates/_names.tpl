{{/* Names, labels and the values of the container with the release's own objects filled in. */}}

{{- define "sidegate.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := .Values.fullnameOverride | default (contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name)) -}}
{{- /* Room for the longest suffix, `-parameters`, in a DNS label. */ -}}
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

{{- define "sidegate.labels" -}}
{{- include "sidegate.labelsWith" (dict "root" .) -}}
{{- end -}}

{{/* With an object's own `labels`, which win: (dict "root" . "labels" LABELS). */}}
{{- define "sidegate.labelsWith" -}}
{{- $common := .root.Values.commonLabels | default dict -}}
{{- toYaml (mergeOverwrite (include "sidegate.ownLabels" .root | fromYaml) $common (.labels | default dict)) -}}
{{- end -}}

{{/* Cluster-scoped objects of two releases of one name must not meet. */}}
{{- define "sidegate.clusterName" -}}
{{ include "sidegate.fullname" . }}.{{ .Release.Namespace }}
{{- end -}}

{{- define "sidegate.configMap" -}}
{{ .Values.container.configMap | default (printf "%s-config" (include "sidegate.fullname" .)) }}
{{- end -}}

{{- define "sidegate.rulesConfigMap" -}}
{{ .Values.rules.existingConfigMap | default .Values.container.rulesConfigMap | default (printf "%s-rules" (include "sidegate.fullname" .)) }}
{{- end -}}

{{/* The name that every namespace's parameters have, so that one policy finds them in each. */}}
{{- define "sidegate.parameters" -}}sidegate-injection{{- end -}}

{{/* The argument of the library's templates: (dict "root" . "placement" PLACEMENT). */}}
{{- define "sidegate.containerContext" -}}
{{- $root := .root -}}
{{- $names := dict "configMap" (include "sidegate.configMap" $root) "rulesConfigMap" (include "sidegate.rulesConfigMap" $root) -}}
{{- $values := mergeOverwrite (deepCopy $root.Values.container) $names -}}
{{- toYaml (dict "values" $values "version" $root.Chart.AppVersion "placement" .placement) -}}
{{- end -}}

{{- define "sidegate.namespaceSelector" -}}
{{- if .selector -}}
{{ toYaml .selector }}
{{- else -}}
matchLabels:
  kubernetes.io/metadata.name: {{ .root.Release.Namespace | quote }}
{{- end -}}
{{- end -}}
