// The section `admin` of the configuration's JSON Schema.

import { ADMIN_ROLES } from './admin-role.ts'
import { integer, secret, section } from './schema-parts.ts'

/** What each role may do, for people. */
const ROLES =
  '`viewer`: read everything but captured texts. `auditor`: also read those, and verify the log. `editor`: also change keys and rules. `admin`: also erase captured texts and end the sessions of others.'

const claim = (description: string, value: string) => ({
  description,
  type: 'string',
  minLength: 1,
  maxLength: 128,
  default: value,
})

const OIDC_SECTION = {
  description:
    'Single sign-on of administrators by OpenID Connect (authorization code flow with PKCE). Omit it for none.',
  type: 'object',
  additionalProperties: false,
  required: ['issuer', 'clientId', 'clientSecret', 'roles'],
  properties: {
    issuer: {
      description:
        'Issuer of the provider, an `https` URL below which it serves `/.well-known/openid-configuration`. `http` is only for a provider on the same machine.',
      type: 'string',
      minLength: 1,
      maxLength: 2048,
    },
    clientId: {
      description: 'Id of the gateway at the provider.',
      type: 'string',
      minLength: 1,
      maxLength: 256,
    },
    clientSecret: secret('Secret of the gateway at the provider.'),
    groupsClaim: claim('Claim that lists the groups of a person.', 'groups'),
    roles: {
      description: `Roles by group. The highest role counts for a person in several groups; a person in none of the groups cannot sign in. ${ROLES}`,
      type: 'object',
      maxProperties: 100,
      additionalProperties: {
        description: 'The role of the people in the group.',
        enum: [...ADMIN_ROLES],
      },
    },
    actorClaim: claim(
      'Claim that names a person in the log, sealed with each change, also after an erasure. It should hold no personal data, and must be unique and never change.',
      'sub',
    ),
  },
} as const

export const ADMIN_SECTION = section('The management API.', {
  token: secret(
    'Token with which the administrator `admin`, of the role `admin`, signs in, at least 16 characters. Without this, `tokens` or `oidc` the management API is closed.',
  ),
  tokens: {
    description: 'Administrators, each with a name, a role and a token.',
    type: 'array',
    maxItems: 100,
    default: [],
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['name', 'token', 'role'],
      properties: {
        name: {
          description:
            'Unique name, sealed in the log with each change. It must hold no personal data, and must not be `gateway` or `unknown` or begin with `cli:`.',
          type: 'string',
          minLength: 1,
          maxLength: 128,
        },
        token: secret('Token with which the administrator signs in, at least 16 characters.'),
        role: {
          description: `What the administrator may do. ${ROLES}`,
          enum: [...ADMIN_ROLES],
        },
      },
    },
  },
  oidc: OIDC_SECTION,
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
})
