// The configuration's JSON Schema (2020-12). It is the manual: every key has a description, its unit and its default.

import { DEFAULT_PII_KINDS, PII_KINDS } from './finding.ts'

const secret = (description: string) =>
  reference(
    `${description} Only by reference: {env: NAME} or {file: PATH}; a file is read again when it changes.`,
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
      description: "Path of a file, relative to the configuration file's folder.",
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

/** The parts of JSON Schema that reading a configuration needs to know. */
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
  description: `${description} \`host:port\`; port 0 picks a free one and the first log line names it.`,
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
    listen: section('Where the gateway listens.', {
      gateway: address(
        'Chat and management API. On 127.0.0.1 the same port of [::1] is opened as well.',
        '127.0.0.1:8484',
      ),
      ops: address('Metrics and health, nothing else.', '127.0.0.1:9484'),
    }),
    upstream: section(
      'The OpenAI-compatible API that calls are forwarded to.',
      {
        baseUrl: {
          description: 'Base URL up to and without `/chat/completions`.',
          type: 'string',
          pattern: '^https?://[^\\s?#]+$',
        },
        apiKey: secret(
          "The provider's credential, sent as a bearer token. Leave out for an upstream without one. Taken out of answers that repeat it, from 8 characters on.",
        ),
        proxy: reference(
          'URL of an HTTP proxy that the upstream is reached through, by CONNECT: `http://` or `https://`, a name and a password in it where it wants them. By reference, {env: HTTPS_PROXY} or {file: PATH}, read at start. Leave out for none: the environment alone sends no call anywhere.',
        ),
        timeouts: section('How long the upstream may take.', {
          connectMs: integer('To accept a connection, milliseconds.', 100, HOUR_MS, 5000),
          headersMs: integer('To answer with headers, milliseconds.', 100, HOUR_MS, 120_000),
          idleMs: integer('Between two pieces of an answer, milliseconds.', 100, HOUR_MS, 60_000),
        }),
        retries: section(
          'Tries after a failure before any byte of an answer was passed on (connect errors, 429, 502, 503, 504).',
          {
            attempts: integer('Retries at most; 0 turns them off.', 0, 5, 2),
          },
        ),
      },
      ['baseUrl'],
    ),
    rules: section('Policy rules.', {
      path: {
        description: 'A rule file or a folder of them, watched for changes.',
        type: 'string',
        minLength: 1,
        default: 'rules',
      },
      candidatePath: {
        description:
          'A rule file or folder on trial: what it would do with the calls that pass is counted and shown, and changes nothing. Leave out for none.',
        type: 'string',
        minLength: 1,
      },
      apiWrites: {
        description: 'Whether the REST API may add rules and override files (`overlay`) or not (`readonly`).',
        enum: ['overlay', 'readonly'],
        default: 'overlay',
      },
    }),
    keys: {
      description: 'API keys declared by hash, next to those made through the API.',
      type: 'array',
      maxItems: 10_000,
      default: [],
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['name', 'sha256'],
        properties: {
          name: {
            description: 'Shown in the usage log; rules match on it.',
            type: 'string',
            minLength: 1,
            maxLength: 128,
          },
          sha256: {
            description: 'SHA-256 of the whole key, 64 lower-case hexadecimal digits. Never the key itself.',
            type: 'string',
            pattern: '^[0-9a-f]{64}$',
            writeOnly: true,
          },
        },
      },
    },
    pii: section('Detection of personal data.', {
      kinds: {
        description:
          'Kinds that are looked for; narrows or widens the default list, which is every kind but `address` and `person`.',
        type: 'array',
        uniqueItems: true,
        items: { enum: [...PII_KINDS] },
        default: [...DEFAULT_PII_KINDS],
      },
      binaryParts: {
        description:
          'Image, audio and file payloads cannot be scanned: let them through (`pass`) or refuse them (`block`).',
        enum: ['pass', 'block'],
        default: 'pass',
      },
    }),
    audit: section('The usage log.', {
      retainDays: integer(
        'Days an entry and its content are kept; looked at every hour. What goes is told by a `prune` entry.',
        1,
        36_500,
        365,
      ),
      maxBytes: integer(
        'Size that the store on disk stays below, bytes: from 90 % of it on the oldest entries go. Where that cannot keep up, calls are refused.',
        16 * 1024 ** 2,
        1024 * GIB,
        10 * GIB,
      ),
      whenFull: {
        description:
          'What gives way where pruning cannot keep up: calls (`refuse`), or first the captured exchanges, so that calls are sealed without (`drop-content`).',
        enum: ['refuse', 'drop-content'],
        default: 'refuse',
      },
      signingKey: reference(
        'Signs checkpoints of the log: an Ed25519 private key, PKCS#8 in PEM (openssl genpkey -algorithm ed25519). Kept where the log is not, it says more than the one that is made in the data folder without it. By reference, {env: NAME} or {file: PATH}; read at the start.',
      ),
    }),
    data: section('State on disk.', {
      path: {
        description:
          'Folder of the embedded database; made if missing. A local disk, never a network file system.',
        type: 'string',
        minLength: 1,
        default: '../data',
      },
    }),
    admin: section('The management API.', {
      token: secret('Signs an administrator in. Without it the management API cannot be opened.'),
      sessionTtlSeconds: integer('A session ends after this long, seconds.', 60, 30 * 86_400, 28_800),
      allowedHosts: {
        description: '`Host` names accepted on the management API besides loopback ones, without port.',
        type: 'array',
        maxItems: 100,
        items: {
          description: 'A host name or an IPv4 address, without scheme, port or wildcard.',
          type: 'string',
          pattern: '^[A-Za-z0-9.-]{1,253}$',
        },
        default: [],
      },
    }),
    limits: section('Bounds on what one process takes on.', {
      bodyBytes: integer('Largest request body, bytes.', 1024, 256 * 1024 ** 2, 10 * 1024 ** 2),
      concurrentRequests: integer(
        'Calls in flight; one more is answered 503. Their prompts and answers take a fifth of the memory at most, and who brings more is answered so, too.',
        1,
        100_000,
        1024,
      ),
      drainSeconds: integer('How long a stop waits for running calls, seconds.', 0, 3600, 25),
    }),
    log: section('Structured logs on standard output.', {
      level: {
        description: 'Lowest level that is written.',
        enum: ['fatal', 'error', 'warn', 'info', 'debug', 'silent'],
        default: 'info',
      },
    }),
  },
} as const
