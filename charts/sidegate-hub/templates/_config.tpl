{{/* Renders hub.yaml: the values under `config` with the keys that the chart owns. */}}

{{- define "sidegate-hub.config" -}}
{{- $service := include "sidegate.fullname" . -}}
{{- $namespaced := printf "%s.%s" $service .Release.Namespace -}}
{{- /* Names of the Service in the cluster. The hub refuses any other `Host`. */ -}}
{{- $hosts := list $service $namespaced (printf "%s.svc" $namespaced) (printf "%s.svc.cluster.local" $namespaced) -}}
{{- $tls := dict "certificate" (dict "file" "../tls/tls.crt") "key" (dict "file" "../tls/tls.key") -}}
{{- $admin := dict "allowedHosts" (concat $hosts (dig "admin" "allowedHosts" (list) .Values.config) | uniq) -}}
{{- if and .Values.adminSecret.name (not (dig "admin" "tokens" nil .Values.config)) -}}
{{- $_ := set $admin "tokens" (list (dict "name" "platform" "role" "admin" "token" (dict "file" "../secrets/admin-token"))) -}}
{{- end -}}
{{- $owned := dict
      "listen" (dict "hub" (printf "%s:%v" .Values.listen.host .Values.ports.hub) "ops" (printf "%s:%v" .Values.listen.host .Values.ports.ops) "tls" $tls)
      "database" (dict "url" (dict "file" "../secrets/database-url"))
      "audit" (dict "signingKey" (dict "file" "../secrets/signing-key.pem"))
      "admin" $admin -}}
{{- if include "sidegate-hub.rulesConfigMap" . -}}
{{- $_ := set $owned "rules" (dict "path" "../rules") -}}
{{- end -}}
{{- if include "sidegate-hub.pricesConfigMap" . -}}
{{- $_ := set $owned "prices" (dict "path" "../prices/prices.yaml") -}}
{{- end -}}
{{- $config := mergeOverwrite (deepCopy .Values.config) $owned -}}
{{- if include "sidegate-hub.hasClusterKeys" . -}}
{{- range $cluster := dig "join" "clusters" (list) $config -}}
{{- if not (hasKey $cluster "jwks") -}}{{- $_ := set $cluster "jwks" (dict "file" "../keys/cluster.json") -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
