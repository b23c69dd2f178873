{{/* Checks that a schema cannot express. Each error names the values and a remedy. */}}

{{- define "sidegate.checks" -}}
{{- $container := .Values.container -}}
{{- /* Also for a release without a container: its notes name the image. */ -}}
{{- $_ := include "sidegate-lib.image" (dict "values" $container "version" .Chart.AppVersion) -}}
{{- $minor := .Capabilities.KubeVersion.Minor | toString | regexFind "^[0-9]+" | int -}}
{{- $places := dict
      "commonLabels" .Values.commonLabels
      "commonAnnotations" .Values.commonAnnotations
      "container.podAnnotations" $container.podAnnotations
      "standalone.podLabels" .Values.standalone.podLabels
      "standalone.podAnnotations" .Values.standalone.podAnnotations
      "standalone.service.labels" .Values.standalone.service.labels
      "standalone.serviceAccount.labels" .Values.standalone.serviceAccount.labels
      "ingress.labels" .Values.ingress.labels
      "httpRoute.labels" .Values.httpRoute.labels
      "podMonitor.labels" .Values.podMonitor.labels
      "serviceMonitor.labels" .Values.serviceMonitor.labels
      "prometheusRule.labels" .Values.prometheusRule.labels
      "dashboard.labels" .Values.dashboard.labels -}}
{{- include "sidegate.nameChecks" (dict "root" . "places" $places) -}}
{{- if and .Values.rules.existingConfigMap (or .Values.rules.files .Values.rules.inline) -}}
{{- fail "rules.existingConfigMap is owned elsewhere; leave rules.files and rules.inline empty" -}}
{{- end -}}
{{- if and .Values.rules.inline (hasKey (.Values.rules.files | default dict) "values.yaml") -}}
{{- fail "rules.inline becomes the file values.yaml, which rules.files also has; rename that file" -}}
{{- end -}}
{{- if and .Values.prices.file (or .Values.prices.existingConfigMap $container.pricesConfigMap) -}}
{{- fail "prices.existingConfigMap and container.pricesConfigMap are owned elsewhere; leave prices.file empty" -}}
{{- end -}}
{{- if and (hasKey .Values.config "prices") (not (or .Values.prices.file .Values.prices.existingConfigMap $container.pricesConfigMap)) -}}
{{- fail "config.prices needs a price file; set prices.file or prices.existingConfigMap" -}}
{{- end -}}
{{- if eq (int $container.ports.gateway) (int $container.ports.ops) -}}
{{- fail (printf "container.ports.gateway and container.ports.ops are both %v; use two different ports" $container.ports.ops) -}}
{{- end -}}
{{- $opsTls := ne (dig "listen" "opsTls" nil .Values.config) nil -}}
{{- if ne $opsTls $container.opsTls -}}
{{- fail "config.listen.opsTls and container.opsTls go together: set both, or neither" -}}
{{- end -}}
{{- if and (eq .Values.mode "sidecar") (dig "listen" "tls" nil .Values.config) -}}
{{- fail "config.listen.tls needs mode standalone: apps reach their sidecar by plain HTTP on loopback addresses" -}}
{{- end -}}
{{- if and (not $container.configMap) (ne (empty $container.hub.audience) (empty (dig "fleet" "hubs" nil .Values.config))) -}}
{{- fail "container.hub.audience and config.fleet.hubs go together: set both, or neither" -}}
{{- end -}}
{{- include "sidegate.exposureChecks" . -}}
{{- if ne $container.data.type "existingClaim" -}}
{{- $limit := dig "audit" "maxBytes" 10737418240 .Values.config | int64 -}}
{{- if ge (float64 $limit) (include "sidegate-lib.bytes" $container.data.size | float64) -}}
{{- fail (printf "config.audit.maxBytes (%d) must be below container.data.size (%s), so that calls are refused before the volume is full or the Pod is evicted" $limit $container.data.size) -}}
{{- end -}}
{{- end -}}
{{- if and (eq .Values.mode "standalone") (eq $container.data.type "existingClaim") (gt (int .Values.standalone.replicas) 1) -}}
{{- fail "container.data.type existingClaim serves one gateway; set standalone.replicas to 1, or container.data.type to ephemeral" -}}
{{- end -}}
{{- $drain := dig "limits" "drainSeconds" 25 .Values.config | int -}}
{{- if and (eq .Values.mode "standalone") (lt (int .Values.standalone.terminationGracePeriodSeconds) (add $drain 8 | int)) -}}
{{- fail (printf "standalone.terminationGracePeriodSeconds (%v) must be at least 8 more than config.limits.drainSeconds (%d), or running calls are aborted" .Values.standalone.terminationGracePeriodSeconds $drain) -}}
{{- end -}}
{{- if and .Values.injection.enabled (eq $container.data.type "existingClaim") -}}
{{- fail "container.data.type existingClaim serves one gateway and cannot be injected into many Pods; use emptyDir or ephemeral" -}}
{{- end -}}
{{- if and .Values.injection.enabled (or $container.extraVolumes $container.extraVolumeMounts) -}}
{{- fail "container.extraVolumes and container.extraVolumeMounts cannot be injected by policy; include the sidegate-lib chart in the app's chart instead" -}}
{{- end -}}
{{- if and .Values.injection.enabled (eq .Values.mode "standalone") -}}
{{- fail "injection.enabled needs mode sidecar: injected Pods need a configuration that listens on loopback addresses" -}}
{{- end -}}
{{- if and .Values.validation.enabled (not $container.upstreamSecret.name) -}}
{{- fail "validation.enabled guards container.upstreamSecret.name, which is empty" -}}
{{- end -}}
{{- if and (has "Deny" .Values.validation.actions) (has "Warn" .Values.validation.actions) -}}
{{- fail "validation.actions: Kubernetes accepts Deny or Warn, not both; use Deny, whose message gives the reason" -}}
{{- end -}}
{{- if and .Values.validation.enabled (lt $minor 30) -}}
{{- fail (printf "validation.enabled needs Kubernetes 1.30 (ValidatingAdmissionPolicy v1); this is %s" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- end -}}

{{/* Checks of the ways to a standalone gateway: its Service, Ingress, route and monitors. */}}
{{- define "sidegate.exposureChecks" -}}
{{- if ne .Values.mode "standalone" -}}
{{- range $name := list "ingress" "httpRoute" "serviceMonitor" -}}
{{- if (get $.Values $name).enabled -}}
{{- fail (printf "%s.enabled needs mode standalone: a sidecar has no Service%s" $name (eq $name "serviceMonitor" | ternary "; use podMonitor.enabled" "")) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.podMonitor.enabled .Values.serviceMonitor.enabled -}}
{{- fail "podMonitor.enabled and serviceMonitor.enabled would scrape each Pod twice; use one" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs must name a Gateway, or no traffic takes the route" -}}
{{- end -}}
{{- if and (eq .Values.standalone.dnsPolicy "None") (not .Values.standalone.dnsConfig.nameservers) -}}
{{- fail "standalone.dnsPolicy None needs standalone.dnsConfig.nameservers" -}}
{{- end -}}
{{- $service := .Values.standalone.service -}}
{{- $ipv6 := or (has "IPv6" $service.ipFamilies) (hasSuffix "DualStack" $service.ipFamilyPolicy) -}}
{{- if and $ipv6 (eq .Values.mode "standalone") (not (hasPrefix "[" .Values.listen.host)) -}}
{{- fail (printf "standalone.service gives the gateway an IPv6 address, and listen.host (%s) is not one; set listen.host to [::]" (.Values.listen.host | default "0.0.0.0")) -}}
{{- end -}}
{{- end -}}

{{/* The API version of MutatingAdmissionPolicy; fails if the cluster has none. */}}
{{- define "sidegate.mutatingVersion" -}}
{{- $version := .Capabilities.KubeVersion.Version -}}
{{- if semverCompare ">=1.36.0-0" $version -}}
admissionregistration.k8s.io/v1
{{- else if and (semverCompare ">=1.34.0-0" $version) (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy") -}}
admissionregistration.k8s.io/v1beta1
{{- else -}}
{{- fail (printf "injection.enabled needs MutatingAdmissionPolicy: Kubernetes 1.36, or 1.34 and 1.35 with the v1beta1 API enabled (offline: --api-versions admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy); this is %s. Use the sidegate-lib chart or the kustomize component instead" $version) -}}
{{- end -}}
{{- end -}}
