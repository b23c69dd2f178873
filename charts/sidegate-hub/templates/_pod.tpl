{{/* What the Pods of the Deployment and of the migration share. Each takes the root. */}}

{{- define "sidegate-hub.image" -}}
{{ include "sidegate-lib.image" (dict "values" (dict "image" .Values.image "global" .Values.global) "version" .Chart.AppVersion) }}
{{- end -}}

{{- define "sidegate-hub.scheduling" -}}
{{- with include "sidegate-lib.pullSecrets" (dict "values" (dict "image" .Values.image "global" .Values.global)) }}
imagePullSecrets:
  {{- . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  seccompProfile:
    type: RuntimeDefault
automountServiceAccountToken: false
enableServiceLinks: false
{{- end -}}

{{- define "sidegate-hub.mounts" -}}
- name: config
  mountPath: /etc/sidegate/config
  readOnly: true
- name: secrets
  mountPath: /etc/sidegate/secrets
  readOnly: true
- name: tls
  mountPath: /etc/sidegate/tls
  readOnly: true
{{- /* Whole folders, because a subPath mount is never updated. */}}
{{- if include "sidegate-hub.rulesConfigMap" . }}
- name: rules
  mountPath: /etc/sidegate/rules
  readOnly: true
{{- end }}
{{- if include "sidegate-hub.pricesConfigMap" . }}
- name: prices
  mountPath: /etc/sidegate/prices
  readOnly: true
{{- end }}
{{- if include "sidegate-hub.hasClusterKeys" . }}
- name: keys
  mountPath: /etc/sidegate/keys
  readOnly: true
{{- end }}
{{- end -}}

{{/* The volumes of a hub. World-readable, because a Secret's files belong to root and it is not root. */}}
{{- define "sidegate-hub.volumes" -}}
{{- $values := .Values -}}
- name: config
  configMap:
    name: {{ printf "%s-config" (include "sidegate.fullname" .) | quote }}
- name: secrets
  projected:
    defaultMode: 0444
    sources:
      - secret:
          name: {{ $values.database.secret.name | quote }}
          items:
            - key: {{ $values.database.secret.key | quote }}
              path: database-url
      - secret:
          name: {{ $values.signingSecret.name | quote }}
          items:
            - key: {{ $values.signingSecret.key | quote }}
              path: signing-key.pem
      {{- with $values.adminSecret }}
      {{- if .name }}
      - secret:
          name: {{ .name | quote }}
          items:
            - key: {{ .key | quote }}
              path: admin-token
      {{- end }}
      {{- end }}
- name: tls
  secret:
    secretName: {{ $values.tlsSecret.name | quote }}
    defaultMode: 0444
{{- with include "sidegate-hub.rulesConfigMap" . }}
- name: rules
  configMap:
    name: {{ . | quote }}
{{- end }}
{{- with include "sidegate-hub.pricesConfigMap" . }}
- name: prices
  configMap:
    name: {{ . | quote }}
{{- end }}
{{- if $values.clusterKeys.existingConfigMap }}
- name: keys
  configMap:
    name: {{ $values.clusterKeys.existingConfigMap | quote }}
    items:
      - key: {{ $values.clusterKeys.key | quote }}
        path: cluster.json
{{- else if $values.clusterKeys.fetch }}
- name: keys
  emptyDir:
    sizeLimit: 1Mi
- name: api
  projected:
    defaultMode: 0444
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 600
      - configMap:
          name: kube-root-ca.crt
          items:
            - key: ca.crt
              path: ca.crt
{{- end }}
{{- end -}}

{{/* Writes the public keys of this cluster, which any ServiceAccount may read. */}}
{{- define "sidegate-hub.fetchKeys" -}}
name: cluster-keys
image: {{ include "sidegate-hub.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
command:
  - node
  - -e
  - >-
    const fs = require('node:fs');
    const authorization = 'Bearer ' + fs.readFileSync('/api/token', 'utf8');
    fetch('https://kubernetes.default.svc/openid/v1/jwks', {headers: {authorization}, signal: AbortSignal.timeout(10000)})
    .then(async (answer) => { const text = await answer.text(); if (!answer.ok) throw new Error(answer.status + ' ' + text);
    fs.writeFileSync('/etc/sidegate/keys/cluster.json', text) })
    .catch((error) => { console.error('The keys of the cluster cannot be read from its API:', error.cause ?? error); process.exit(1) })
env:
  - name: NODE_EXTRA_CA_CERTS
    value: /api/ca.crt
{{- with include "sidegate-lib.resources" .Values | fromYaml }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "sidegate-lib.securityContext" . | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
  - name: keys
    mountPath: /etc/sidegate/keys
  - name: api
    mountPath: /api
    readOnly: true
{{- end -}}
