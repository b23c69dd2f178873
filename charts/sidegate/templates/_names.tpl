{{/* Names, and the container's values with the release's ConfigMaps. */}}

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
