// Lists the words of the wire format. A text is left out of the scan only if it is one of them, or
// has the form of an id in the place of an id, so nothing else can hide there.

const words = (list: string): ReadonlySet<string> => new Set(list.split(/\s+/))

/** Fields of each form of request that upstreams know. Another spelling of one is refused. */
export const REQUEST_FIELDS = {
  chat: words(
    `model messages models stream stream_options temperature top_p top_k top_a min_p max_tokens max_completion_tokens n
    seed stop tools tool_choice parallel_tool_calls functions function_call response_format structured_outputs
    prediction metadata user logprobs top_logprobs logit_bias presence_penalty frequency_penalty repetition_penalty
    service_tier store verbosity modalities audio web_search_options safety_identifier prompt_cache_key
    prompt_cache_retention reasoning reasoning_effort include_reasoning provider plugins transforms route usage prompt
    input suffix extra_body chat_template chat_template_kwargs guided_json guided_regex guided_choice guided_grammar
    prompt_token_ids`,
  ),
  responses: words(
    `model models input instructions previous_response_id conversation stream stream_options store include background
    tools tool_choice parallel_tool_calls max_tool_calls max_output_tokens temperature top_p top_logprobs text reasoning
    metadata user safety_identifier prompt_cache_key prompt_cache_retention service_tier truncation prompt
    context_management extra_body provider plugins`,
  ),
  completions: words(
    `model models prompt suffix stream stream_options n best_of echo logprobs max_tokens temperature top_p top_k min_p
    stop seed presence_penalty frequency_penalty repetition_penalty logit_bias user extra_body provider`,
  ),
  /** Embeddings and moderations have these. */
  input: words('model models input dimensions encoding_format user input_type truncate extra_body provider'),
  /** Messages of Anthropic and their count have these. */
  messages: words(
    `model models messages system max_tokens stream temperature top_p top_k stop_sequences tools tool_choice thinking
    output_config output_format metadata service_tier container context_management mcp_servers cache_control
    inference_geo`,
  ),
}

const FIELD_NAMES: ReadonlySet<string> = new Set(
  Object.values(REQUEST_FIELDS).flatMap((fields) => [...fields].map((name) => name.replaceAll('_', ''))),
)

/** Reports whether a name is a field of any API. @param plain in small letters, without `_` */
export const isRequestField = (plain: string): boolean => FIELD_NAMES.has(plain)

/** Member names of the wire format. Names that people choose are scanned. */
const WIRE_NAMES: ReadonlySet<string> = new Set([
  ...Object.values(REQUEST_FIELDS).flatMap((fields) => [...fields]),
  ...`role content name tool_calls tool_call_id refusal reasoning_content reasoning_details thinking type text
  image_url video_url audio_url input_audio file url detail data format file_data file_id filename cache_control ttl
  function arguments custom id index include_usage
  description parameters strict properties required additionalProperties items enum const default examples title
  anyOf allOf oneOf not $ref $defs $schema definitions minimum maximum exclusiveMinimum exclusiveMaximum minLength
  maxLength minItems maxItems pattern nullable prefixItems patternProperties propertyNames minProperties
  maxProperties uniqueItems multipleOf json_schema schema effort summary exclude enabled
  object created system_fingerprint choices message delta finish_reason native_finish_reason stop_reason annotations
  url_citation start_index end_index images transcript expires_at signature encrypted_content token logprob bytes
  prompt_tokens completion_tokens total_tokens prompt_tokens_details completion_tokens_details cached_tokens
  cache_write_tokens reasoning_tokens audio_tokens image_tokens video_tokens text_tokens
  accepted_prediction_tokens rejected_prediction_tokens cost is_byok cost_details upstream_inference_cost
  upstream_inference_prompt_cost upstream_inference_completions_cost prompt_cache_hit_tokens
  prompt_cache_miss_tokens error code param obfuscation token_ids x_groq prompt_logprobs kv_transfer_params
  content_filter_results content_filter_offsets prompt_filter_results prompt_index filtered severity hate self_harm
  sexual violence jailbreak detected protected_material_text protected_material_code
  item item_id part response output_index content_index summary_index sequence_number output output_text status
  call_id incomplete_details reason completed_at created_at input_tokens output_tokens input_tokens_details
  output_tokens_details content_part annotation queries results action query obfuscated
  source media_type input_schema tool_use_id is_error budget_tokens partial_json citation content_block
  stop_sequence cache_creation_input_tokens cache_read_input_tokens cache_creation ephemeral_5m_input_tokens
  ephemeral_1h_input_tokens server_tool_use web_search_requests
  embedding embeddings categories category_scores category_applied_input_types flagged`.split(/\s+/),
])

/** Containers whose member names people choose. */
const NAMED_BY_PEOPLE: ReadonlySet<string | number> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'metadata',
  'default',
  'const',
  'logit_bias',
  'chat_template_kwargs',
])

/**
 * Reports whether a name belongs to the wire format. @param container key of its object; null for
 * the body
 */
export const isWireName = (name: string, container: string | number | null): boolean =>
  WIRE_NAMES.has(name) && (container === null || !NAMED_BY_PEOPLE.has(container))

const FINISH_REASONS = words(
  'stop length tool_calls content_filter function_call error STOP MAX_TOKENS end_turn stop_sequence max_tokens tool_use completed eos',
)

/** Fields with fixed values, and those values. Any other value is scanned. */
const WIRE_VALUES: ReadonlyMap<string | number, ReadonlySet<string>> = new Map([
  ['role', words('system developer user assistant tool function')],
  [
    'type',
    words(
      `text input_text output_text reference image_url input_audio file video_url refusal thinking redacted_thinking function custom grammar content json_object json_schema ephemeral url_citation message function_call function_call_output custom_tool_call custom_tool_call_output item_reference reasoning summary_text reasoning_text input_image input_file output_audio web_search_call file_search_call code_interpreter_call image_generation_call computer_call mcp_call mcp_list_tools compaction compaction_summary tool_use tool_result server_tool_use document image base64 url enabled disabled adaptive any auto tool text_delta input_json_delta thinking_delta signature_delta citations_delta content_block_start content_block_delta content_block_stop message_start message_delta message_stop ping error reasoning.text reasoning.summary reasoning.encrypted string number integer boolean object array null invalid_request_error`,
    ),
  ],
  [
    'object',
    words(
      'chat.completion chat.completion.chunk text_completion response response.compaction response.input_tokens list embedding model',
    ),
  ],
  ['status', words('completed in_progress incomplete failed queued cancelled searching')],
  ['encoding_format', words('float base64')],
  ['truncation', words('auto disabled')],
  ['finish_reason', FINISH_REASONS],
  ['native_finish_reason', FINISH_REASONS],
  ['stop_reason', FINISH_REASONS],
  ['detail', words('auto low high original')],
  ['format', words('wav mp3 flac opus pcm16 aac unknown anthropic-claude-v1 openai-responses-v1')],
  ['tool_choice', words('auto none required')],
  ['function_call', words('auto none')],
  ['effort', words('none minimal low medium high xhigh')],
  ['reasoning_effort', words('none minimal low medium high xhigh')],
  ['verbosity', words('low medium high')],
  ['service_tier', words('auto default flex priority scale')],
  ['modalities', words('text audio image')],
  ['severity', words('safe low medium high')],
])

/** Types of the events of the Responses API, which gets new ones. */
const EVENT_TYPE = /^response(?:\.[a-z_]{1,40}){1,4}$/

/** @param field name of the member or, for an item, of the list */
export const isWireValue = (field: string | number, value: string): boolean =>
  WIRE_VALUES.get(field)?.has(value) === true || (field === 'type' && EVENT_TYPE.test(value))

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const PREFIXED_ID =
  /^(?:call|toolu?|chatcmpl|fc|ctc|rs|msg|gen|file|audio|resp|cmp|req|function-call|functions)[-_.:][\w.:-]{1,128}$/
const SHORT_ID = /^(?=.*\d)[A-Za-z0-9]{9}$/
/** As many digits as the shortest number that identifies a person, with or without separators. */
const LONG_NUMBER = /\d(?:[-_.:]?\d){8}/

/** Ids of Gemini and GLM: more digits than a payment card has, or as many as few have. */
const COUNTED_ID = /^(?:function-call-|call_-?)\d{17,20}$/

/** Reports whether a text has the form of a provider's id and no long number in it. */
export const isId = (text: string): boolean =>
  COUNTED_ID.test(text) ||
  ((PREFIXED_ID.test(text) || UUID.test(text) || SHORT_ID.test(text)) && !LONG_NUMBER.test(text))

/** Letters and digits without a separator, so it is one word. No model reads it. */
const FILE_ID = /^file[-_][A-Za-z0-9]{1,64}$/

/** Reports whether a text has the form of the id of a file; it may be a long number. */
export const isFileId = (text: string): boolean => FILE_ID.test(text) || isId(text)

const DISPLAY_NAME = /^[A-Z][A-Za-z]*(?: [A-Z0-9][A-Za-z0-9]*){0,3}$/

/**
 * Reports whether a text has the form of an id, a model name or a fingerprint in an answer, where
 * the client did not choose it.
 */
export const isLabel = (text: string): boolean =>
  PREFIXED_ID.test(text) || hasLabelForm(text) || UUID.test(text)

const MAXIMUM_LABEL_CHARACTERS = 128
/** Nine digits in a row, with or without separators, may identify a person. */
const MAXIMUM_LABEL_DIGITS = 8
const AT = 0x40
const SLASH = 0x2f

/**
 * Letters, digits, `-_.:/`, an `@` in front, and no long number. One pass, because every chunk has
 * some.
 */
function hasLabelForm(text: string): boolean {
  if (text.length > MAXIMUM_LABEL_CHARACTERS) return false
  let digits = 0
  let hasLetter = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const lower = code | 0x20
    if (lower >= 0x61 && lower <= 0x7a) {
      hasLetter = true
      digits = 0
    } else if (code >= 0x30 && code <= 0x39) {
      if (++digits > MAXIMUM_LABEL_DIGITS) return false
    } else if (code === SLASH || (code === AT && at === 0)) {
      digits = 0
    } else if (code !== 0x2d && code !== 0x2e && code !== 0x3a && code !== 0x5f) return false
  }
  return hasLetter
}

/** Reports whether a text has the form of a provider's display name. */
export const isDisplayName = (text: string): boolean => text.length <= 64 && DISPLAY_NAME.test(text)
