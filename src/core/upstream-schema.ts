// JSON Schema of an upstream: the keys of `upstream`, and those of an item of `upstreams`.

import { integer, reference, secret, section } from './schema-parts.ts'

const HOUR_MS = 3_600_000

/** Maximum upstreams. A call asks at most as many. */
export const MAXIMUM_UPSTREAMS = 32

const WORD = '^[A-Za-z0-9_.-]{1,64}$'
const WORD_FORMAT = '1 to 64 of the characters A-Z a-z 0-9 _ . -'

const name = (description: string) => ({
  description: `${description} ${WORD_FORMAT}.`,
  type: 'string',
  pattern: WORD,
})

const headerName = (description: string) => ({
  description: `${description} In lower case, without colon and white space, at most 64 characters.`,
  type: 'string',
  pattern: '^[a-z0-9!#$&^_.|~-]{1,64}$',
})

const list = (description: string, items: Record<string, unknown>, maxItems: number) => ({
  description,
  type: 'array',
  uniqueItems: true,
  maxItems,
  items,
})

const file = (description: string) => ({
  description: `${description} Path of a PEM file, relative to the folder of the configuration file; read at start.`,
  type: 'string',
  minLength: 1,
})

const COMMON = {
  baseUrl: {
    description:
      'Base URL without `/chat/completions`. `{model}` stands for the name of the model, after `rename` and percent-encoded. Begins with `http://` or `https://` and has no white space, `?` or `#`.',
    type: 'string',
    pattern: '^https?://[^\\s?#]+$',
  },
  query: {
    description: 'Query parameters of every request, such as `api-version` of Azure.',
    type: 'object',
    maxProperties: 16,
    propertyNames: name('Name of a parameter.'),
    additionalProperties: { type: 'string', maxLength: 256 },
    default: {},
  },
  apiKey: secret(
    "The provider's credential. Omit it for an upstream without one. Answers that repeat a credential of 8 or more characters get `[upstream credential removed]` in its place.",
  ),
  auth: {
    description:
      'How the credential is sent: as a bearer token (`bearer`), in a header of its own (`{header: api-key}`), or not at all (`none`).',
    anyOf: [
      { enum: ['bearer', 'none'] },
      {
        type: 'object',
        additionalProperties: false,
        required: ['header'],
        properties: { header: headerName('Name of the header.') },
      },
    ],
    default: 'bearer',
  },
  rename: {
    description: 'Names of models at this upstream, by the names that clients use.',
    type: 'object',
    maxProperties: 1000,
    propertyNames: { maxLength: 256 },
    additionalProperties: { type: 'string', minLength: 1, maxLength: 256 },
    default: {},
  },
  headers: {
    description: 'Headers of every request: a text, or a reference to a secret.',
    type: 'object',
    maxProperties: 32,
    propertyNames: headerName('Name of a header.'),
    additionalProperties: {
      anyOf: [
        {
          description: 'The value: 1 to 1000 printable ASCII characters.',
          type: 'string',
          pattern: '^[\\x20-\\x7e]{1,1000}$',
        },
        secret('The value.'),
      ],
    },
    default: {},
  },
  forwardHeaders: {
    ...list(
      'Headers of the client to forward besides the usual ones, in lower case.',
      headerName('Name of a header.'),
      32,
    ),
    default: [],
  },
  proxy: reference(
    'URL of an HTTP proxy, used with CONNECT: `http://` or `https://`, with name and password if it requires them. A reference, read at start: {env: NAME} or {file: PATH}. Omit it to connect directly. The proxy variables of the environment are ignored.',
  ),
  timeouts: section('Time limits for the upstream.', {
    connectMs: integer('Time to open a connection, milliseconds.', 100, HOUR_MS, 5000),
    headersMs: integer(
      'Time to the response headers, milliseconds. Reasoning models are silent for minutes.',
      100,
      HOUR_MS,
      600_000,
    ),
    idleMs: integer('Time between two chunks of a response, milliseconds.', 100, HOUR_MS, 600_000),
  }),
  retries: section(
    'Retries after connect errors and statuses 502, 503 and 504, before any byte of an answer was delivered. A 429 is passed on at once.',
    {
      attempts: integer('Retries per call, at most; 0 disables them.', 0, 5, 2),
    },
  ),
  streamUsage: {
    description:
      'Whether the gateway adds `stream_options.include_usage` to streams, to count their tokens. auto: adds it, and sends the request once more without it when the upstream answers 400 or 422; always: adds it; never: does not, and estimates the tokens.',
    enum: ['auto', 'always', 'never'],
    default: 'auto',
  },
  tls: section('Certificates of connections to the upstream.', {
    ca: file('Authorities to trust instead of the usual ones.'),
    certificate: file("The gateway's certificate, for an upstream that asks for one."),
    key: file('Private key of the certificate.'),
  }),
}

/** The short form: one upstream that serves every API and every model. */
export const UPSTREAM_SCHEMA = {
  description: 'The upstream that receives all calls. To use several, declare `upstreams` instead.',
  type: 'object',
  additionalProperties: false,
  required: ['baseUrl'],
  properties: COMMON,
}

export const UPSTREAMS_SCHEMA = {
  description:
    'The upstreams, in order. A call goes to the first one whose `api` serves its endpoint and whose `models` match its model.',
  type: 'array',
  minItems: 1,
  maxItems: MAXIMUM_UPSTREAMS,
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['name', 'baseUrl'],
    properties: {
      name: name('Name in entries, metrics and `x-sidegate-upstream`.'),
      api: {
        description:
          'Endpoints it serves: those of OpenAI (chat, responses, completions, embeddings, moderations) or of Anthropic (messages, count_tokens).',
        enum: ['openai', 'anthropic'],
        default: 'openai',
      },
      models: {
        ...list(
          'Globs of the models it serves: `*` matches any characters, `?` one.',
          { type: 'string', minLength: 1, maxLength: 128 },
          1000,
        ),
        minItems: 1,
        default: ['*'],
      },
      fallback: {
        ...list(
          'Upstreams to ask next, in order, after a connection error, a time limit, a 5xx or a 429, and before any byte of an answer was delivered. Their own `models` do not matter.',
          name('Name of an upstream.'),
          8,
        ),
        default: [],
      },
      breaker: {
        description:
          'Stops asking an upstream that fails. Without it, only an upstream with a fallback is spared, after 5 failures for 30 s.',
        type: 'object',
        additionalProperties: false,
        properties: {
          failures: integer('Failures in a row after which calls pass it over.', 1, 1000, 5),
          openSeconds: integer('Time until one call tries it again, seconds.', 1, 3600, 30),
        },
      },
      ...COMMON,
    },
  },
}
