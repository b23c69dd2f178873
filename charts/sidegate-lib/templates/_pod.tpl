{{/*
Templates for an app's chart. Each takes the root context and reads `.Values.sidegate`, so the
dependency needs `alias: sidegate`.

  metadata:
    annotations: {{- include "sidegate-lib.podAnnotations" . | nindent 8 }}
  spec:
    imagePullSecrets: {{- include "sidegate-lib.imagePullSecrets" . | nindent 8 }}
    initContainers: {{- include "sidegate-lib.initContainers" . | nindent 8 }}
    containers:
      - env: {{- include "sidegate-lib.appEnv" . | nindent 12 }}
    volumes: {{- include "sidegate-lib.podVolumes" . | nindent 8 }}
*/}}

{{- define "sidegate-lib.context" -}}
{{- $values := required "sidegate-lib: give the dependency `alias: sidegate` in Chart.yaml" .Values.sidegate -}}
{{- toYaml (dict "values" $values "version" .Subcharts.sidegate.Chart.AppVersion "placement" "sidecar") -}}
{{- end -}}

{{/* A list of one container. Put it first, so that later init containers can use the gateway. */}}
{{- define "sidegate-lib.initContainers" -}}
{{- $container := include "sidegate-lib.container" (include "sidegate-lib.context" . | fromYaml) | fromYaml -}}
{{- toYaml (list $container) -}}
{{- end -}}

{{- define "sidegate-lib.podVolumes" -}}
{{- include "sidegate-lib.volumes" (include "sidegate-lib.context" . | fromYaml) -}}
{{- end -}}

{{/* The app's base URL, and its key if `app.apiKeySecret.name` is set. */}}
{{- define "sidegate-lib.appEnv" -}}
{{- $values := (include "sidegate-lib.context" . | fromYaml).values -}}
- name: {{ $values.app.baseUrlVariable | quote }}
  value: "http://127.0.0.1:{{ $values.ports.gateway }}/v1"
{{- with $values.app.apiKeySecret }}
{{- if .name }}
- name: {{ $values.app.apiKeyVariable | quote }}
  valueFrom:
    secretKeyRef:
      name: {{ .name | quote }}
      key: {{ .key | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A list, also when it is empty. */}}
{{- define "sidegate-lib.imagePullSecrets" -}}
{{- include "sidegate-lib.pullSecrets" (include "sidegate-lib.context" . | fromYaml) | default "[]" -}}
{{- end -}}

{{/* Restarts the Pods when `configChecksum` changes; with the annotations of `podAnnotations`. */}}
{{- define "sidegate-lib.podAnnotations" -}}
{{- $values := (include "sidegate-lib.context" . | fromYaml).values -}}
{{- $checksum := dict "sidegate.dev/config-checksum" $values.configChecksum -}}
{{- toYaml (mergeOverwrite dict ($values.podAnnotations | default dict) $checksum) -}}
{{- end -}}
