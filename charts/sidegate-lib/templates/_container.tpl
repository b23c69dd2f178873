{{/*
The gateway's container, written once for the sidecar, the standalone Deployment, the admission
policy and the kustomize component. Each template takes (dict "values" VALUES "version" APPVERSION),
where VALUES are this chart's values.

sidegate-lib.container   the container as a mapping; "placement" is sidecar (default) or standalone
sidegate-lib.volumes     the list of volumes that the container mounts
sidegate-lib.repository  the image without tag and digest
sidegate-lib.pullSecrets the list of pull secrets for the image; empty if there are none
*/}}

{{/* `global.imageRegistry` wins, so that one value moves all charts of a parent to a mirror. */}}
{{- define "sidegate-lib.registry" -}}
{{ (.values.global | default dict).imageRegistry | default .values.image.registry }}
{{- end -}}

{{- define "sidegate-lib.repository" -}}
{{- with include "sidegate-lib.registry" . }}{{ . }}/{{ end }}{{ .values.image.repository }}
{{- end -}}

{{- define "sidegate-lib.pullSecrets" -}}
{{- $shared := list -}}
{{- range (.values.global | default dict).imagePullSecrets -}}
  {{- /* Other charts of a parent may want names where Kubernetes wants objects. */ -}}
  {{- $shared = append $shared (kindIs "string" . | ternary (dict "name" .) .) -}}
{{- end -}}
{{- with concat $shared (.values.image.pullSecrets | default list) | uniq -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}

{{- define "sidegate-lib.image" -}}
{{- $image := .values.image -}}
{{- if not $image.repository -}}
{{- fail (printf "image.repository is required (container.image.repository in the sidegate chart, sidegate.image.repository in an app's chart): there is no public image. Build it in a checkout of sidegate with `docker build -t registry.example.com/platform/sidegate:%s .`, push it, and set image.registry to registry.example.com and image.repository to platform/sidegate" .version) -}}
{{- end -}}
{{- include "sidegate-lib.repository" . }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default .version }}{{ end }}
{{- end -}}

{{/* The environment of `extraEnv`, as a list; takes the values. */}}
{{- define "sidegate-lib.environment" -}}
{{- $list := list -}}
{{- range $name, $value := .extraEnv -}}
  {{- /* null removes a value that another values file sets; toJson keeps numbers exact. */ -}}
  {{- if kindIs "map" $value -}}
    {{- $list = append $list (merge (dict "name" $name) $value) -}}
  {{- else if not (kindIs "invalid" $value) -}}
    {{- $list = append $list (dict "name" $name "value" (kindIs "string" $value | ternary $value (toJson $value))) -}}
  {{- end -}}
{{- end -}}
{{- if $list -}}{{- toYaml $list -}}{{- end -}}
{{- end -}}

{{- define "sidegate-lib.securityContext" -}}
allowPrivilegeEscalation: false
capabilities:
  drop:
    - ALL
privileged: false
readOnlyRootFilesystem: true
runAsGroup: 65532
runAsNonRoot: true
runAsUser: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "sidegate-lib.args" -}}
- serve
- --config
- /etc/sidegate/config/sidegate.yaml
{{- end -}}

{{- define "sidegate-lib.container" -}}
{{- $values := .values -}}
name: sidegate
image: {{ include "sidegate-lib.image" . | quote }}
imagePullPolicy: {{ $values.image.pullPolicy }}
{{- if ne .placement "standalone" }}
restartPolicy: Always
{{- end }}
args:
  {{- include "sidegate-lib.args" . | nindent 2 }}
{{- if eq .placement "standalone" }}
{{- /* Keeps serving until every node has removed the Pod from the Service. */}}
lifecycle:
  preStop:
    exec:
      {{- /* The `sleep` action needs Kubernetes 1.30. */}}
      command: [node, -e, "setTimeout(() => {}, 3000)"]
{{- end }}
env:
  {{- /* Sealed at each start, so that the log names the Pod that wrote it. */}}
  - name: SIDEGATE_INSTANCE
    valueFrom:
      fieldRef:
        fieldPath: metadata.uid
  {{- with include "sidegate-lib.environment" $values }}
  {{- . | nindent 2 }}
  {{- end }}
ports:
  {{- if eq .placement "standalone" }}
  - name: http
    containerPort: {{ $values.ports.gateway }}
    protocol: TCP
  {{- end }}
  - name: sidegate-ops
    containerPort: {{ $values.ports.ops }}
    protocol: TCP
{{- /* Readiness never depends on the provider: its outage would take every app down. */}}
{{- range $probe, $path := dict "startup" "/readyz" "readiness" "/readyz" "liveness" "/livez" }}
{{- with get ($values.probes | default dict) $probe }}
{{ $probe }}Probe:
  httpGet:
    path: {{ $path }}
    port: sidegate-ops
    {{- /* The kubelet verifies no certificate. */}}
    {{- if $values.opsTls }}
    scheme: HTTPS
    {{- end }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with include "sidegate-lib.resources" $values | fromYaml }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "sidegate-lib.securityContext" . | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
  - name: sidegate-config
    mountPath: /etc/sidegate/config
    readOnly: true
  {{- /* Whole folders, because a subPath mount is never updated. */}}
  - name: sidegate-rules
    mountPath: /etc/sidegate/rules
    readOnly: true
  - name: sidegate-prices
    mountPath: /etc/sidegate/prices
    readOnly: true
  - name: sidegate-secrets
    mountPath: /etc/sidegate/secrets
    readOnly: true
  {{- if $values.hub.audience }}
  - name: sidegate-hub
    mountPath: /etc/sidegate/hub
    readOnly: true
  {{- end }}
  - name: sidegate-data
    mountPath: /var/lib/sidegate
  {{- with $values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "sidegate-lib.volumes" -}}
{{- $values := .values -}}
{{- include "sidegate-lib.checkStorage" $values -}}
{{- $data := $values.data -}}
- name: sidegate-config
  configMap:
    name: {{ $values.configMap | quote }}
- name: sidegate-rules
  configMap:
    name: {{ $values.rulesConfigMap | quote }}
{{- /* Optional: without prices in the configuration there is none. */}}
- name: sidegate-prices
  configMap:
    name: {{ $values.pricesConfigMap | quote }}
    optional: true
{{- /* World-readable, because a Secret's files belong to root and the container is not root. */}}
- name: sidegate-secrets
  projected:
    defaultMode: 0444
    {{- if not (or $values.upstreamSecret.name $values.adminSecret.name $values.signingSecret.name) }}
    sources: []
    {{- else }}
    sources:
      {{- with $values.upstreamSecret }}
      {{- if .name }}
      - secret:
          name: {{ .name | quote }}
          items:
            - key: {{ .key | quote }}
              path: upstream-api-key
          {{- /* Optional, so that a missing Secret is the gateway's error, not a hung Pod. */}}
          optional: true
      {{- end }}
      {{- end }}
      {{- with $values.adminSecret }}
      {{- if .name }}
      - secret:
          name: {{ .name | quote }}
          items:
            - key: {{ .key | quote }}
              path: admin-token
          optional: true
      {{- end }}
      {{- end }}
      {{- with $values.signingSecret }}
      {{- if .name }}
      - secret:
          name: {{ .name | quote }}
          items:
            - key: {{ .key | quote }}
              path: signing-key.pem
          optional: true
      {{- end }}
      {{- end }}
    {{- end }}
{{- with $values.hub }}
{{- if .audience }}
{{- /* Mounted in this container only: with the token another one could ask for the keys. */}}
- name: sidegate-hub
  projected:
    defaultMode: 0444
    sources:
      - serviceAccountToken:
          path: token
          audience: {{ .audience | quote }}
          expirationSeconds: {{ .tokenSeconds }}
      {{- if .caConfigMap.name }}
      - configMap:
          name: {{ .caConfigMap.name | quote }}
          items:
            - key: {{ .caConfigMap.key | quote }}
              path: ca.pem
      {{- end }}
{{- end }}
{{- end }}
- name: sidegate-data
  {{- if eq $data.type "emptyDir" }}
  emptyDir:
    sizeLimit: {{ $data.size }}
  {{- else if eq $data.type "ephemeral" }}
  ephemeral:
    volumeClaimTemplate:
      spec:
        accessModes:
          - ReadWriteOnce
        {{- with $data.storageClassName }}
        storageClassName: {{ . | quote }}
        {{- end }}
        resources:
          requests:
            storage: {{ $data.size }}
  {{- else }}
  persistentVolumeClaim:
    claimName: {{ required "data.existingClaim must name the claim when data.type is existingClaim" $data.existingClaim | quote }}
  {{- end }}
{{- with $values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Drops quantities that are null, which Kubernetes would read as zero. */}}
{{- define "sidegate-lib.resources" -}}
{{- $resources := dict -}}
{{- range $kind, $quantities := .resources -}}
  {{- range $name, $quantity := $quantities -}}
    {{- if not (kindIs "invalid" $quantity) -}}
      {{- $_ := set $resources $kind (set (get $resources $kind | default dict) $name $quantity) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{/*
Fails if the store may outgrow the Pod's ephemeral-storage limit. An emptyDir counts against it,
and beyond it the Pod is evicted together with its log.
*/}}
{{- define "sidegate-lib.checkStorage" -}}
{{- $limit := get ((.resources | default dict).limits | default dict) "ephemeral-storage" -}}
{{- if and $limit (eq .data.type "emptyDir") -}}
{{- if le (include "sidegate-lib.bytes" $limit | float64) (include "sidegate-lib.bytes" .data.size | float64) -}}
{{- fail (printf "resources.limits.ephemeral-storage (%v) must be above data.size (%s), or the Pod is evicted before the store is full; null removes the limit" $limit .data.size) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Bytes of a quantity such as 2Gi, 1.5G or 1e9. */}}
{{- define "sidegate-lib.bytes" -}}
{{- $units := dict "" 1 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- $text := kindIs "string" . | ternary . (toJson .) -}}
{{- $number := regexFind "^[0-9]+([.][0-9]+)?([eE][0-9]+)?" $text -}}
{{- $unit := trimPrefix $number $text -}}
{{- if or (not $number) (not (hasKey $units $unit)) -}}
{{- fail (printf "%s is not a quantity of ephemeral-storage such as 2560Mi" $text) -}}
{{- end -}}
{{- mulf $number (get $units $unit) -}}
{{- end -}}
