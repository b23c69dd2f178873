{{/* Names, labels, and the container's values with the release's ConfigMaps. */}}

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

{{/* Unique per namespace, so that releases of one name do not share cluster-scoped objects. */}}
{{- define "sidegate.clusterName" -}}
{{ include "sidegate.fullname" . }}.{{ .Release.Namespace }}
{{- end -}}

{{- define "sidegate.configMap" -}}
{{ .Values.container.configMap | default (printf "%s-config" (include "sidegate.fullname" .)) }}
{{- end -}}

{{- define "sidegate.rulesConfigMap" -}}
{{ .Values.rules.existingConfigMap | default .Values.container.rulesConfigMap | default (printf "%s-rules" (include "sidegate.fullname" .)) }}
{{- end -}}

{{- define "sidegate.pricesConfigMap" -}}
{{ .Values.prices.existingConfigMap | default .Values.container.pricesConfigMap | default (printf "%s-prices" (include "sidegate.fullname" .)) }}
{{- end -}}

{{/* One name in every namespace, so that one policy finds each namespace's parameters. */}}
{{- define "sidegate.parameters" -}}sidegate-injection{{- end -}}

{{/* Builds the argument of the library's templates: (dict "root" . "placement" PLACEMENT). */}}
{{- define "sidegate.containerContext" -}}
{{- $root := .root -}}
{{- $names := dict "configMap" (include "sidegate.configMap" $root) "rulesConfigMap" (include "sidegate.rulesConfigMap" $root) "pricesConfigMap" (include "sidegate.pricesConfigMap" $root) -}}
{{- $values := mergeOverwrite (deepCopy $root.Values.container) $names -}}
{{- toYaml (dict "values" $values "version" $root.Chart.AppVersion "placement" .placement) -}}
{{- end -}}

{{/*
Fields of the gateway's Pods that the Pod of `helm test` also has, because a cluster may demand them
of every Pod. It keeps the cluster's DNS, which resolves the Service.
*/}}
{{- define "sidegate.scheduling" -}}
{{- $standalone := .Values.standalone -}}
{{- $account := $standalone.serviceAccount.create | ternary (include "sidegate.fullname" .) "" -}}
{{- $shared := include "sidegate-lib.pullSecrets" (dict "values" .Values.container) | fromYamlArray -}}
{{- $fields := pick $standalone "priorityClassName" "nodeSelector" "tolerations" -}}
{{- $_ := set $fields "serviceAccountName" ($standalone.serviceAccountName | default $account) -}}
{{- $_ := set $fields "imagePullSecrets" (concat $shared ($standalone.imagePullSecrets | default list) | uniq) -}}
{{- include "sidegate.nonEmpty" $fields -}}
{{- end -}}

{{/* The fields of a mapping that have a value; nothing if there are none. */}}
{{- define "sidegate.nonEmpty" -}}
{{- $set := dict -}}
{{- range $name, $value := . -}}
  {{- if $value -}}{{- $_ := set $set $name $value -}}{{- end -}}
{{- end -}}
{{- if $set -}}{{- toYaml $set -}}{{- end -}}
{{- end -}}

{{- define "sidegate.namespaceSelector" -}}
{{- if .selector -}}
{{ toYaml .selector }}
{{- else -}}
matchLabels:
  kubernetes.io/metadata.name: {{ .root.Release.Namespace | quote }}
{{- end -}}
{{- end -}}
