{{/*
sidegate.cel: a value, as Kubernetes would read it from YAML, written as a CEL expression. (dict "value" V "type" T):
T is the path of the object's type, as the API server checks it (Object.spec.initContainers.securityContext).
A text `$(params.NAME)` becomes the parameter of that name. Maps whose keys are data, not fields, stay maps.
*/}}
{{- define "sidegate.cel" -}}
{{- $value := .value -}}
{{- $type := .type -}}
{{- if kindIs "map" $value -}}
  {{- $isData := has (splitList "." $type | last) (list "limits" "requests" "labels" "annotations") -}}
  {{- $fields := list -}}
  {{- range $key, $child := $value -}}
    {{- $name := $isData | ternary ($key | toJson) $key -}}
    {{- /* The values of a map are of one type: quantities, too, are texts. */ -}}
    {{- if and $isData (not (kindIs "string" $child)) }}{{ $child = toJson $child }}{{ end -}}
    {{- $fields = append $fields (printf "%s: %s" $name (include "sidegate.cel" (dict "value" $child "type" (printf "%s.%s" $type $key)))) -}}
  {{- end -}}
  {{- $isData | ternary "" $type }}{ {{- join ", " $fields -}} }
{{- else if kindIs "slice" $value -}}
  {{- $items := list -}}
  {{- range $child := $value -}}
    {{- $items = append $items (include "sidegate.cel" (dict "value" $child "type" $type)) -}}
  {{- end -}}
  [ {{- join ", " $items -}} ]
{{- else if kindIs "string" $value -}}
  {{- if hasPrefix "$(params." $value -}}
    params.data.{{ $value | trimPrefix "$(params." | trimSuffix ")" }}
  {{- else -}}
    {{ include "sidegate.celText" $value }}
  {{- end -}}
{{- else if kindIs "bool" $value -}}
  {{ $value }}
{{- else -}}
  {{ int64 $value }}
{{- end -}}
{{- end -}}

{{/* JSON's escapes are CEL's, but for those that only HTML needs. */}}
{{- define "sidegate.celText" -}}
{{ toRawJson . }}
{{- end -}}

{{/*
sidegate.celIs: a condition that the expression `path` is the value, as far as the value says; the API server completes
what it is given, and leaves empty texts out.
*/}}
{{- define "sidegate.celIs" -}}
{{- $path := .path -}}
{{- if kindIs "map" .value -}}
  {{- $conditions := list -}}
  {{- range $key, $child := .value -}}
    {{- $field := printf "%s.%s" $path $key -}}
    {{- $is := include "sidegate.celIs" (dict "path" $field "value" $child) -}}
    {{- $conditions = append $conditions (toString $child | empty | ternary (printf "(!has(%s) || %s)" $field $is) (printf "has(%s) && %s" $field $is)) -}}
  {{- end -}}
  {{- join " && " $conditions -}}
{{- else if kindIs "bool" .value -}}
  {{ $path }} == {{ .value }}
{{- else -}}
  {{ $path }} == {{ toString .value | include "sidegate.celText" }}
{{- end -}}
{{- end -}}
