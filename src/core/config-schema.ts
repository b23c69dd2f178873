// JSON Schema (2020-12) of the configuration. Documents every key: description, unit and default.

import { DEFAULT_PII_KINDS, PII_KINDS } from './finding.ts'

const secret = (description: string) =>
  reference(
    `${description} A reference, never the value: {env: NAME} or {file: PATH}. A changed file is read again.`,
  )

const reference = (description: string) => ({
  description,
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: {
    env: {
      description: 'Name of the environment variable.',
      type: 'string',
      pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    },
    file: {
      description: 'Path of a file, relative to the folder of the configuration file.',
      type: 'string',
      minLength: 1,
    },
  },
})

const integer = (description: string, minimum: number, maximum: number, value: number) => ({
  description,
  type: 'integer',
  minimum,
  maximum,
  default: value,
})

/** Parts of JSON Schema that the reader of the configuration uses. */
export interface SchemaNode {
  readonly [keyword: string]: unknown
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, SchemaNode>>
}

const section = (description: string, properties: Record<string, SchemaNode>, required: string[] = []) => ({
  description,
  type: 'object',
  additionalProperties: false,
  default: {},
  properties,
  ...(required.length > 0 ? { required } : {}),
})

const address = (description: string, value: string) => ({
  description: `${description} \`host:port\`. Port 0 picks a free port; the first log line names it.`,
  type: 'string',
  pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^\\[\\]:\\s]+):[0-9]{1,5}$',
  default: value,
})

const HOUR_MS = 3_600_000
const GIB = 1024 ** 3

export const CONFIG_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Sidegate configuration',
  type: 'object',
  additionalProperties: false,
  required: ['upstream'],
  properties: {
    listen: section('Addresses on which the gateway listens.', {
      gateway: address('Chat and management API. With 127.0.0.1 it also listens on [::1].', '127.0.0.1:8484'),
      ops: address('Metrics and health.', '127.0.0.1:9484'),
    }),
    upstream: section(
      'The OpenAI-compatible API that receives the calls.',
      {
        baseUrl: {
          description: 'Base URL without `/chat/completions`.',
          type: 'string',
          pattern: '^https?://[^\\s?#]+$',
        },
        apiKey: secret(
          "The provider's credential, sent as a bearer token. Omit it for an upstream without one. Answers that repeat a credential of 8 or more characters are redacted.",
        ),
        proxy: reference(
          'URL of an HTTP proxy, used with CONNECT: `http://` or `https://`, with name and password if it requires them. A reference, read at start: {env: HTTPS_PROXY} or {file: PATH}. Without it no proxy is used, even if HTTPS_PROXY is set.',
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
      },
      ['baseUrl'],
    ),
    rules: section('Policy rules.', {
      path: {
        description: 'A rule file or a folder of rule files. Changes take effect at once.',
        type: 'string',
        minLength: 1,
        default: 'rules',
      },
      candidatePath: {
        description:
          'A rule file or folder of candidate rules. The gateway counts and shows what they would do to each call, and changes nothing. Omit it for none.',
        type: 'string',
        minLength: 1,
      },
      apiWrites: {
        description:
          'Whether the REST API may add rules and override those in files (`overlay`) or not (`readonly`).',
        enum: ['overlay', 'readonly'],
        default: 'overlay',
      },
    }),
    keys: {
      description: 'API keys declared by hash, in addition to those created through the API.',
      type: 'array',
      maxItems: 10_000,
      default: [],
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['name', 'sha256'],
        properties: {
          name: {
            description: 'Name in the usage log. Rules can match it.',
            type: 'string',
            minLength: 1,
            maxLength: 128,
          },
          sha256: {
            description: 'SHA-256 of the whole key, 64 lower-case hexadecimal digits; never the key.',
            type: 'string',
            pattern: '^[0-9a-f]{64}$',
            writeOnly: true,
          },
        },
      },
    },
    pii: section('Detection of personal data.', {
      kinds: {
        description: 'Kinds to detect. The default is every kind except `address` and `person`.',
        type: 'array',
        uniqueItems: true,
        items: { enum: [...PII_KINDS] },
        default: [...DEFAULT_PII_KINDS],
      },
      binaryParts: {
        description:
          'What to do with image, audio and file payloads, which cannot be scanned: `pass` or `block` the call.',
        enum: ['pass', 'block'],
        default: 'pass',
      },
    }),
    audit: section('The usage log.', {
      retainDays: integer(
        'Days to keep an entry and its content. Checked every hour. A `prune` entry records what was deleted.',
        1,
        36_500,
        365,
      ),
      maxBytes: integer(
        'Maximum size of the store on disk, bytes. At 90 % the gateway starts to delete the oldest entries. If deletion cannot keep up, see `whenFull`.',
        16 * 1024 ** 2,
        1024 * GIB,
        10 * GIB,
      ),
      whenFull: {
        description:
          'What to do if deletion cannot keep up: refuse calls (`refuse`), or seal calls without their exchange first (`drop-content`).',
        enum: ['refuse', 'drop-content'],
        default: 'refuse',
      },
      verifyEverySeconds: integer(
        'Seconds between two full verifications of the log, each in a child process of low priority; the first after a random part of them. The metric `sidegate_audit_verified` has the result. 0: only on request.',
        0,
        2_000_000,
        86_400,
      ),
      signingKey: reference(
        'Ed25519 private key that signs checkpoints of the log, PKCS#8 in PEM (openssl genpkey -algorithm ed25519). Without it the gateway generates a key in the data folder; a key stored elsewhere also protects against anyone who can write to that folder. A reference, read at start: {env: NAME} or {file: PATH}.',
      ),
    }),
    data: section('State on disk.', {
      path: {
        description:
          'Folder of the embedded database, created if missing. Must be on a local disk, not a network file system.',
        type: 'string',
        minLength: 1,
        default: '../data',
      },
    }),
    admin: section('The management API.', {
      token: secret(
        'Token with which an administrator signs in, at least 16 characters. Without it the management API is closed.',
      ),
      sessionTtlSeconds: integer('Lifetime of a session, seconds.', 60, 30 * 86_400, 28_800),
      allowedHosts: {
        description: '`Host` names that the management API accepts besides loopback names, without port.',
        type: 'array',
        maxItems: 100,
        items: {
          description:
            'A host name or an IP address, IPv6 with or without brackets, without scheme, port or wildcard.',
          type: 'string',
          pattern: '^(?:[A-Za-z0-9._-]{1,253}|\\[[0-9A-Fa-f:.]{2,45}\\]|[0-9A-Fa-f:.]{2,45})$',
        },
        default: [],
      },
    }),
    limits: section('Limits of one process.', {
      bodyBytes: integer('Largest request body, bytes.', 1024, 256 * 1024 ** 2, 10 * 1024 ** 2),
      concurrentRequests: integer(
        'Maximum number of calls in flight; further calls get status 503. So do calls whose prompts and answers would together take more than a fifth of the memory.',
        1,
        100_000,
        1024,
      ),
      drainSeconds: integer('Time that a shutdown waits for calls in flight, seconds.', 0, 3600, 25),
    }),
    log: section('Structured logs on standard output.', {
      level: {
        description: 'Lowest level that is logged.',
        enum: ['fatal', 'error', 'warn', 'info', 'debug', 'silent'],
        default: 'info',
      },
    }),
  },
} as const
