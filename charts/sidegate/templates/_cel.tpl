{{/*
sidegate.cel writes a YAML value as a CEL expression. Argument: (dict "value" V "type" T).
T is the path of the value's type as the API server checks it, for example
Object.spec.initContainers.securityContext. A string `$(params.NAME)` becomes the parameter NAME,
and `$(params.NAME|TEXT)` the text in a namespace whose parameters lack it.
Maps whose keys are data and not fields stay maps.
*/}}
{{- define "sidegate.cel" -}}
{{- $value := .value -}}
{{- $type := .type -}}
{{- if kindIs "map" $value -}}
  {{- $isData := has (splitList "." $type | last) (list "limits" "requests" "labels" "annotations") -}}
  {{- $fields := list -}}
  {{- range $key, $child := $value -}}
    {{- $name := $isData | ternary ($key | toJson) $key -}}
    {{- /* CEL map values share one type, so quantities become strings. */ -}}
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
    {{- $parameter := splitList "|" ($value | trimPrefix "$(params." | trimSuffix ")") -}}
    {{- $name := printf "params.data.%s" (first $parameter) -}}
    {{- if gt (len $parameter) 1 -}}
      (has({{ $name }}) ? {{ $name }} : {{ include "sidegate.celText" (last $parameter) }})
    {{- else -}}
      {{ $name }}
    {{- end -}}
  {{- else -}}
    {{ include "sidegate.celText" $value }}
  {{- end -}}
{{- else if kindIs "bool" $value -}}
  {{ $value }}
{{- else -}}
  {{ int64 $value }}
{{- end -}}
{{- end -}}

{{/* A CEL string literal. CEL reads JSON escapes; toRawJson adds no HTML escapes. */}}
{{- define "sidegate.celText" -}}
{{ toRawJson . }}
{{- end -}}

{{/*
sidegate.celIs writes a condition: the expression `path` has every field of the value. Fields that
the value does not name are ignored, because the API server adds defaults. An empty string matches
an absent field, because the API server drops empty strings.
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
