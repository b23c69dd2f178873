// JSON Schema (2020-12) of the configuration of a hub. Documents every key.

import { ADMIN_SECTION } from './admin-section.ts'
import { CONSOLE_SECTION } from './console-section.ts'
import { LOG_SECTION } from './observability-sections.ts'
import { PRICES_SECTION } from './prices-section.ts'
import { keptUser, retain, retainDays } from './retention-section.ts'
import { address, integer, reference, secret, section } from './schema-parts.ts'
import { serverTls } from './tls-config.ts'

export const HUB_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Sidegate hub configuration',
  type: 'object',
  additionalProperties: false,
  required: ['database', 'audit'],
  properties: {
    listen: section('Addresses on which the hub listens.', {
      hub: address('Sidecars and management API.', '127.0.0.1:8494'),
      ops: address('Metrics and health.', '127.0.0.1:9494'),
      tls: serverTls('TLS of the first address. Without it the hub listens on loopback only.'),
    }),
    database: section(
      'The PostgreSQL database, version 14 or newer.',
      {
        url: secret(
          'URL of the database with its role, like `postgres://sidegate_hub:…@db/sidegate`. `sidegate hub migrate` needs that of the owner.',
        ),
        connections: integer('Maximum connections of this hub.', 2, 100, 10),
      },
      ['url'],
    ),
    join: section('How sidecars show who they are. Without it none can connect.', {
      audience: {
        description: 'Audience that the tokens of sidecars must name.',
        type: 'string',
        minLength: 1,
        maxLength: 256,
        default: 'sidegate-hub',
      },
      clusters: {
        description: 'Clusters whose ServiceAccount tokens are accepted.',
        type: 'array',
        maxItems: 100,
        default: [],
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['name', 'issuer', 'jwks', 'allow'],
          properties: {
            name: {
              description: 'Name of the cluster in lists.',
              type: 'string',
              pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
            },
            issuer: {
              description: 'Issuer of the tokens, as the cluster writes it.',
              type: 'string',
              minLength: 1,
              maxLength: 512,
            },
            jwks: reference(
              'Public keys of the cluster, as `kubectl get --raw /openid/v1/jwks` prints them. A changed file is read again.',
            ),
            allow: {
              description: 'ServiceAccounts whose Pods may connect.',
              type: 'array',
              minItems: 1,
              maxItems: 1000,
              items: {
                type: 'object',
                additionalProperties: false,
                required: ['namespace', 'serviceAccount'],
                properties: {
                  namespace: {
                    description: 'A namespace, or a glob.',
                    type: 'string',
                    pattern: '^[a-z0-9*?-]{1,63}$',
                  },
                  serviceAccount: {
                    description: 'A ServiceAccount, or a glob.',
                    type: 'string',
                    pattern: '^[a-z0-9.*?-]{1,128}$',
                  },
                },
              },
            },
          },
        },
      },
    }),
    rules: {
      description: 'Rules for all sidecars, or for those of some namespaces. Omit it for none.',
      type: 'object',
      additionalProperties: false,
      required: ['path'],
      properties: {
        path: {
          description: 'A rule file or a folder of rule files. Changes take effect at once.',
          type: 'string',
          minLength: 1,
        },
      },
    },
    prices: PRICES_SECTION,
    console: CONSOLE_SECTION,
    admin: ADMIN_SECTION,
    audit: section(
      'The logs in the database.',
      {
        signingKey: secret(
          'Ed25519 private key that signs checkpoints, PKCS#8 PEM, the same for all hubs. Create one with `openssl genpkey -algorithm ed25519`.',
        ),
        retainDays: retainDays(
          'Days to keep an entry after it was received. Whole months are dropped; each log keeps a trace of where it was cut.',
        ),
        retain: retain(
          'Other times for the exchanges of some calls: those of keys that have all the `labels` of an item. The first such item counts; without one, `retainDays` does. An `erase` entry records how many were erased. The longest time keeps all entries.',
        ),
        user: keptUser(
          'How the end user of a call is kept of what sidecars send: the hash alone (`hash`), also the clear text of those that send it (`clear`), or not at all (`off`).',
        ),
      },
      ['signingKey'],
    ),
    limits: section('Limits that hold over all sidecars.', {
      guaranteedShare: {
        description:
          'Part of each limit that is split over the sidecars, which use it while no hub is heard. 0 for none.',
        type: 'number',
        minimum: 0,
        maximum: 1,
        default: 0.2,
      },
      slotTimeoutSeconds: integer(
        'Time after which a sidecar that is not heard loses its places for calls at a time, seconds.',
        10,
        86_400,
        600,
      ),
    }),
    log: LOG_SECTION,
  },
} as const
