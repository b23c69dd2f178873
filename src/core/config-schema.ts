// JSON Schema (2020-12) of the configuration. Documents every key: description, unit and default.

import { ADMIN_SECTION } from './admin-section.ts'
import { CONSOLE_SECTION } from './console-section.ts'
import { DEFAULT_PII_KINDS, PII_KINDS } from './finding.ts'
import { FLEET_SECTION, ON_HUB_LOSS } from './fleet-section.ts'
import { KEYS_SCHEMA } from './key-config.ts'
import { LOG_SECTION, METRICS_SECTION } from './observability-sections.ts'
import { EMBEDDING_NAMES, PLACEHOLDER_STYLES, STYLES } from './placeholder-style.ts'
import { PRICES_SECTION } from './prices-section.ts'
import { MINIMUM_PSEUDONYM_KEY_CHARACTERS } from './pseudonym-key.ts'
import { RECOGNISERS_SCHEMA } from './recogniser-config.ts'
import { keptUser, retain, retainDays } from './retention-section.ts'
import { RUNS_SECTION } from './runs-section.ts'
import { address, fileReference, integer, reference, section } from './schema-parts.ts'
import { mutualTls, serverTls } from './tls-config.ts'
import { PASS_METHODS } from './unscanned-paths.ts'
import { UPSTREAM_SCHEMA, UPSTREAMS_SCHEMA } from './upstream-schema.ts'

const GIB = 1024 ** 3

export const CONFIG_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Sidegate configuration',
  type: 'object',
  additionalProperties: false,
  properties: {
    listen: section('Addresses on which the gateway listens.', {
      gateway: address('Chat and management API. With 127.0.0.1 it also listens on [::1].', '127.0.0.1:8484'),
      ops: address('Metrics and health.', '127.0.0.1:9484'),
      tls: mutualTls('TLS of the first address, which speaks plain HTTP without it.'),
      opsTls: serverTls('TLS of the second address.'),
    }),
    upstream: UPSTREAM_SCHEMA,
    upstreams: UPSTREAMS_SCHEMA,
    passThrough: {
      description:
        'Paths that are forwarded without a scan: key-checked, sealed and counted, and marked as unscanned. By default there are none.',
      type: 'array',
      maxItems: 100,
      default: [],
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['path', 'methods'],
        properties: {
          path: {
            description:
              'A path, or a glob of paths: `*` matches any characters of one segment, `?` one, and a segment `**` any number of segments. Begins with `/v1/`, has 1 to 120 ASCII characters after it and no white space.',
            type: 'string',
            pattern: '^/v1/[\\x21-\\x7e]{1,120}$',
          },
          methods: {
            description: 'Methods to forward.',
            type: 'array',
            minItems: 1,
            uniqueItems: true,
            items: { enum: [...PASS_METHODS] },
          },
          upstream: {
            description: 'Name of the upstream; the first one of `api: openai` by default.',
            type: 'string',
            minLength: 1,
          },
        },
      },
    },
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
    prices: PRICES_SECTION,
    runs: RUNS_SECTION,
    keys: KEYS_SCHEMA,
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
      placeholders: {
        description: `How redacted values are replaced: ${STYLES}. Rules may say otherwise.`,
        enum: [...PLACEHOLDER_STYLES],
        default: 'brackets',
      },
      pseudonymKey: fileReference(
        `Key of pseudonyms (\`[EMAIL_k3f9a2xz]\`), at least ${MINIMUM_PSEUDONYM_KEY_CHARACTERS} characters, in a file that others cannot read. Replicas with one key give a value one name; a changed key gives every value another, so index again. Without it each data folder has a key of its own, \`pseudonym-key\`. A changed file is read again.`,
      ),
      embeddings: {
        description:
          'How values of embeddings are named that would be numbered elsewhere: with a `pseudonym`, which is the same in every call, or a `number`, which makes the vector of a value that of any other.',
        enum: [...EMBEDDING_NAMES],
        default: 'pseudonym',
      },
    }),
    recognisers: RECOGNISERS_SCHEMA,
    tools: section('Tools that the provider itself runs.', {
      servers: {
        description:
          'Calls that name tool servers (`mcp` tools, `mcp_servers`), to which the provider connects: `pass` or `refuse` them. Addresses and credentials of such servers are forwarded unaltered, and are `[CREDENTIAL]` in the log.',
        enum: ['pass', 'refuse'],
        default: 'pass',
      },
    }),
    policy: section('How rules answer clients.', {
      refusalStatus: {
        description:
          'Status of a refusal by a rule. By default 400 where clients take 403 for a missing sign-in (`/v1/messages`, `/v1/responses`), and 403 elsewhere.',
        enum: [400, 403],
      },
    }),
    audit: section('The usage log.', {
      retainDays: retainDays(
        'Days to keep an entry and its content. Checked every hour. A `prune` entry records what was deleted.',
      ),
      retain: retain(
        'Other times for the exchanges of some calls: those of keys that have all the `labels` of an item. The first such item counts; without one, `retainDays` does. An `erase` entry records what was erased. An exchange that is kept for longer also keeps its entry and all later ones.',
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
      capture: {
        description:
          'Whether the redacted text of calls is stored (`full`) or not (`metadata`). A `capture` rule or a key can also say `metadata`, which wins.',
        enum: ['full', 'metadata'],
        default: 'full',
      },
      user: keptUser(
        'How the end user of a call is kept: as a keyed hash (`hash`), as the client names it (`clear`), or not at all (`off`). It is kept apart from the sealed entry, so that an erasure removes it; unless `clear`, the captured request holds `[USER]` in its place.',
      ),
      userFields: {
        description:
          'Members of a request body that name the end user, with a dot between the levels. The first that holds a text counts.',
        type: 'array',
        maxItems: 16,
        uniqueItems: true,
        items: {
          description:
            'A member, such as `user` or `metadata.user_id`: one to four names of letters, digits, `_` and `-`, with a dot between them.',
          type: 'string',
          pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,63}(\\.[A-Za-z_][A-Za-z0-9_-]{0,63}){0,3}$',
        },
        default: ['user', 'safety_identifier', 'metadata.user_id'],
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
      segmentBytes: integer(
        'Size of a file of the journal, bytes, at most a 64th of `audit.maxBytes`. Up to five such files hold what is on disk and not in the database yet.',
        64 * 1024,
        1024 ** 3,
        64 * 1024 ** 2,
      ),
    }),
    admin: ADMIN_SECTION,
    console: CONSOLE_SECTION,
    fleet: FLEET_SECTION,
    limits: section('Limits of one process.', {
      bodyBytes: integer('Largest request body, decoded, bytes.', 1024, 256 * 1024 ** 2, 32 * 1024 ** 2),
      concurrentRequests: integer(
        'Maximum number of calls in flight; further calls get status 503. So do calls whose prompts and answers would together take more than a fifth of the memory.',
        1,
        100_000,
        1024,
      ),
      drainSeconds: integer('Time that a shutdown waits for calls in flight, seconds.', 0, 3600, 25),
      onHubLoss: {
        description:
          'With a hub, what holds for its limits while none is heard: `share` uses the guaranteed share of this gateway, `refuse` only what the hub has lent, and `local` counts in each gateway alone, which multiplies each limit by their number.',
        enum: [...ON_HUB_LOSS],
        default: 'share',
      },
      waitMs: integer(
        'Longest time that a call waits for a hub which lends it a part of a limit, ms.',
        10,
        10_000,
        250,
      ),
    }),
    metrics: METRICS_SECTION,
    log: LOG_SECTION,
  },
} as const
