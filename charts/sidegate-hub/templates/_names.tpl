{{/* Names of the ConfigMaps of a hub. */}}

{{- define "sidegate-hub.rulesConfigMap" -}}
{{- if .Values.rules.existingConfigMap -}}
{{ .Values.rules.existingConfigMap }}
{{- else if .Values.rules.files -}}
{{ include "sidegate.fullname" . }}-rules
{{- end -}}
{{- end -}}

{{- define "sidegate-hub.pricesConfigMap" -}}
{{- if .Values.prices.existingConfigMap -}}
{{ .Values.prices.existingConfigMap }}
{{- else if .Values.prices.file -}}
{{ include "sidegate.fullname" . }}-prices
{{- end -}}
{{- end -}}

{{- define "sidegate-hub.hasClusterKeys" -}}
{{- if or .Values.clusterKeys.fetch .Values.clusterKeys.existingConfigMap -}}yes{{- end -}}
{{- end -}}
