{{/* Checks that a schema cannot express. Each error names the values and a remedy. */}}

{{- define "sidegate-hub.checks" -}}
{{- include "sidegate.nameChecks" (dict "root" . "places" (dict
      "commonLabels" .Values.commonLabels
      "commonAnnotations" .Values.commonAnnotations
      "podLabels" .Values.podLabels
      "podAnnotations" .Values.podAnnotations
      "serviceAccount.annotations" .Values.serviceAccount.annotations
      "podMonitor.labels" .Values.podMonitor.labels)) -}}
{{- if or (hasPrefix "127." .Values.listen.host) (has .Values.listen.host (list "localhost" "[::1]")) -}}
{{- fail (printf "listen.host (%s) is an address that no other Pod reaches; use 0.0.0.0 or [::]" .Values.listen.host) -}}
{{- end -}}
{{- if and .Values.rules.existingConfigMap .Values.rules.files -}}
{{- fail "rules.existingConfigMap is owned elsewhere; leave rules.files empty" -}}
{{- end -}}
{{- if and .Values.prices.existingConfigMap .Values.prices.file -}}
{{- fail "prices.existingConfigMap is owned elsewhere; leave prices.file empty" -}}
{{- end -}}
{{- if and (hasKey .Values.config "prices") (not (include "sidegate-hub.pricesConfigMap" .)) -}}
{{- fail "config.prices needs a price file; set prices.file or prices.existingConfigMap" -}}
{{- end -}}
{{- if and .Values.clusterKeys.fetch .Values.clusterKeys.existingConfigMap -}}
{{- fail "clusterKeys.existingConfigMap has the keys; set clusterKeys.fetch: false" -}}
{{- end -}}
{{- if eq (int .Values.ports.hub) (int .Values.ports.ops) -}}
{{- fail (printf "ports.hub and ports.ops are both %v; use two different ports" .Values.ports.ops) -}}
{{- end -}}
{{- range $cluster := dig "join" "clusters" (list) .Values.config -}}
{{- if not (or (hasKey $cluster "jwks") (include "sidegate-hub.hasClusterKeys" $)) -}}
{{- fail (printf "config.join.clusters: %s has no keys; set clusterKeys.fetch, clusterKeys.existingConfigMap, or its jwks" $cluster.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
