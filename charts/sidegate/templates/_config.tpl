{{/* Renders sidegate.yaml: the values under `config` with the keys that the chart owns. */}}

{{- define "sidegate.config" -}}
{{- $container := .Values.container -}}
{{- $standalone := eq .Values.mode "standalone" -}}
{{- $host := .Values.listen.host | default ($standalone | ternary "0.0.0.0" "127.0.0.1") -}}
{{- $owned := dict
      "listen" (dict "gateway" (printf "%s:%v" $host $container.ports.gateway) "ops" (printf "%s:%v" .Values.listen.opsHost $container.ports.ops))
      "rules" (dict "path" "../rules")
      "data" (dict "path" "/var/lib/sidegate") -}}
{{- if or .Values.prices.existingConfigMap .Values.prices.file $container.pricesConfigMap -}}
{{- $_ := set $owned "prices" (dict "path" "../prices/prices.yaml") -}}
{{- end -}}
{{- if $container.upstreamSecret.name -}}
{{- $_ := set $owned "upstream" (dict "apiKey" (dict "file" "../secrets/upstream-api-key")) -}}
{{- end -}}
{{- if $container.signingSecret.name -}}
{{- $_ := set $owned "audit" (dict "signingKey" (dict "file" "../secrets/signing-key.pem")) -}}
{{- end -}}
{{- with $container.hub -}}
{{- if .audience -}}
{{- $fleet := dict "token" (dict "file" "../hub/token") -}}
{{- if .caConfigMap.name -}}{{- $_ := set $fleet "ca" (dict "file" "../hub/ca.pem") -}}{{- end -}}
{{- $_ := set $owned "fleet" $fleet -}}
{{- end -}}
{{- end -}}
{{- $admin := dict -}}
{{- if $container.adminSecret.name -}}
{{- $_ := set $admin "token" (dict "file" "../secrets/admin-token") -}}
{{- end -}}
{{- if $standalone -}}
{{- /* Names of the Service in the cluster. The gateway refuses any other `Host`. */ -}}
{{- $service := include "sidegate.fullname" . -}}
{{- $namespaced := printf "%s.%s" $service .Release.Namespace -}}
{{- $hosts := list $service $namespaced (printf "%s.svc" $namespaced) (printf "%s.svc.cluster.local" $namespaced) -}}
{{- $_ := set $admin "allowedHosts" (concat $hosts (dig "admin" "allowedHosts" (list) .Values.config) | uniq) -}}
{{- end -}}
{{- with $admin -}}{{- $_ := set $owned "admin" . -}}{{- end -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $owned) -}}
{{- end -}}
