// JSON Schema of the `fleet` section, which makes a gateway a sidecar of a fleet.

import { reference } from './schema-parts.ts'

/** What a sidecar without any key of a hub does. */
export const STARTS_WITHOUT_HUB = ['wait', 'serve-file-keys'] as const

/** What a sidecar sends of its log to a hub. */
export const SHIPPED_PARTS = ['entries', 'entries+content'] as const

/** What a sidecar does when entries that no hub has fill its store. */
export const ON_UNSHIPPABLE = ['block', 'continue'] as const
/** What a sidecar does with limits of the hub while no hub answers. */
export const ON_HUB_LOSS = ['share', 'refuse', 'local'] as const

export const FLEET_SECTION = {
  description: 'Hubs from which this gateway takes its keys. Without it there are no hubs.',
  type: 'object',
  additionalProperties: false,
  required: ['hubs', 'maxStaleSeconds'],
  properties: {
    hubs: {
      description: 'URLs of the hubs, like `https://sidegate-hub:8494`; `http:` on loopback only.',
      type: 'array',
      minItems: 1,
      maxItems: 16,
      items: { description: 'URL without a path.', type: 'string', minLength: 1, maxLength: 512 },
    },
    ca: reference('Certificates that sign those of the hubs, PEM; those of the system by default.'),
    token: reference(
      'The ServiceAccount token of this Pod, with the audience of the hubs. It is read again when it changes.',
    ),
    joinToken: reference(
      'A join token of a hub, for gateways outside Kubernetes. It is used once; the gateway then has a key of its own.',
    ),
    maxStaleSeconds: {
      description:
        'Seconds after the last word of a hub from which the keys of hubs are refused. Longest time for which a key that is revoked meanwhile may work here. It has no default: 86400 rides out a hub that is away for a day, 60 bounds what a revoked key can do.',
      type: 'integer',
      minimum: 5,
      maximum: 31_536_000,
    },
    startWithoutHub: {
      description:
        'Before the first contact with a hub: `wait` is not ready, `serve-file-keys` serves the keys of the configuration.',
      enum: [...STARTS_WITHOUT_HUB],
      default: 'wait',
    },
    ship: {
      description:
        'What hubs get of the usage log: `entries+content` sends captured exchanges too, `entries` keeps them here.',
      enum: [...SHIPPED_PARTS],
      default: 'entries+content',
    },
    onUnshippable: {
      description:
        'When entries that no hub has fill the store (audit.maxBytes): `block` refuses calls with 503 audit_unavailable, `continue` removes the oldest and seals how many no hub has.',
      enum: [...ON_UNSHIPPABLE],
      default: 'block',
    },
  },
} as const
