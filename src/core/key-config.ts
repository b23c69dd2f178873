// Reads the keys that the configuration declares: by hash, by the certificate of a client, or by
// tokens of an issuer.

import { hashClientName } from './apikey.ts'
import { clientName } from './certificate.ts'
import type { Context } from './config-values.ts'
import { LEGIBLE } from './hidden-characters.ts'
import { KeySetReader } from './key-set-source.ts'
import { inOrder, type KeyTerms, NO_TERMS, TERM_SCHEMAS } from './key-terms.ts'
import { parseTime } from './time.ts'
import { CERTIFICATE_KEY_SCHEMA, type DeclaredTls } from './tls-config.ts'
import {
  type DeclaredTokenKey,
  hashTokenIdentity,
  readTokenIdentity,
  rejectUnclearTokens,
  TOKEN_KEY_SCHEMAS,
  type TokenIdentity,
} from './token-identity.ts'

export interface FileKey {
  readonly name: string
  /** SHA-256 of the key, lower-case hex; what identifies the row of a key that is not sent. */
  readonly sha256: string
  /** As `clientName` writes it; null for a key that is no certificate. */
  readonly clientName: string | null
  /** Null for a key that is no token of an issuer. */
  readonly token: TokenIdentity | null
  readonly terms: KeyTerms
}

/** A key as the file declares it. A valid one has one way to be shown. */
export interface DeclaredKey extends Partial<Omit<KeyTerms, 'expiresAtMs'>>, DeclaredTokenKey {
  readonly name: string
  readonly sha256?: string
  readonly clientCertificate?: { readonly san?: string }
  readonly expiresAt?: string
}

/** What may show a key, in the order of the schema. */
const WAYS = ['sha256', 'clientCertificate', 'serviceAccount', 'jwt'] as const

/** JSON Schema of the keys. */
export const KEYS_SCHEMA = {
  description:
    'API keys declared by hash, by the certificate of a client or by tokens of an issuer, in addition to those created through the API.',
  type: 'array',
  maxItems: 10_000,
  default: [],
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['name'],
    properties: {
      name: {
        description: `Name in the usage log. Rules can match it. It must have ${LEGIBLE}.`,
        type: 'string',
        minLength: 1,
        maxLength: 128,
      },
      sha256: {
        description:
          'SHA-256 of the whole key, 64 lower-case hexadecimal digits; never the key. A key has this, `clientCertificate`, `serviceAccount` or `jwt`.',
        type: 'string',
        pattern: '^[0-9a-f]{64}$',
        writeOnly: true,
      },
      clientCertificate: CERTIFICATE_KEY_SCHEMA,
      ...TOKEN_KEY_SCHEMAS,
      ...TERM_SCHEMAS,
    },
  },
} as const

/** Reads the keys. Reports errors to the context. @param tls of the listener for calls */
export function readKeys(
  context: Context,
  declared: readonly DeclaredKey[],
  tls: DeclaredTls | undefined,
): readonly FileKey[] {
  const keySets = new KeySetReader(context)
  return declared.map((key, index) => readKey(context, keySets, key, index, tls))
}

function readKey(
  context: Context,
  keySets: KeySetReader,
  { name, sha256, clientCertificate, expiresAt, ...others }: DeclaredKey,
  index: number,
  tls: DeclaredTls | undefined,
): FileKey {
  const { add, isFaulty } = context
  const path = ['keys', index]
  const { serviceAccount, jwt, ...terms } = others
  const shown = { sha256, clientCertificate, serviceAccount, jwt }
  const [first, second] = WAYS.filter((way) => shown[way] !== undefined)
  if (first === undefined)
    add([...path, 'sha256'], 'is required, unless the key has clientCertificate, serviceAccount or jwt')
  if (second !== undefined) add([...path, second], `must not be next to ${first}; declare a key for each`)
  if (clientCertificate !== undefined && tls?.clientCa === undefined && !isFaulty(['listen']))
    add([...path, 'clientCertificate'], 'needs listen.tls.clientCa, which says who signs it')
  const expiresAtMs = expiresAt === undefined ? null : parseTime(expiresAt)
  if (expiresAt !== undefined && expiresAtMs === null)
    add([...path, 'expiresAt'], 'must be a date or a time with its zone, like 2027-01-31T12:00:00Z')
  const san = clientCertificate?.san === undefined ? null : clientName(clientCertificate.san)
  const token = readTokenIdentity(keySets, path, others)
  const identity = san === null ? token && hashTokenIdentity(token) : hashClientName(san)
  return {
    name,
    sha256: identity ?? sha256 ?? '',
    clientName: san,
    token,
    terms: { ...NO_TERMS, ...terms, labels: inOrder(terms.labels ?? {}), expiresAtMs },
  }
}

/** Reports keys that are the same one: the log could record a call under either name. */
export function rejectSameKey(context: Context, keys: readonly FileKey[]): void {
  const { add } = context
  const first = new Map<string, number>()
  keys.forEach(({ sha256, clientName: san, token }, index) => {
    const other = first.get(sha256)
    // A key without any has a problem of its own, and so have tokens.
    if (sha256 === '' || token !== null) return
    if (other === undefined) first.set(sha256, index)
    else if (san === null)
      add(['keys', index, 'sha256'], `is also the hash of keys[${other}]; remove one of them`)
    else
      add(
        ['keys', index, 'clientCertificate', 'san'],
        `is also the name of keys[${other}]; remove one of them`,
      )
  })
  rejectUnclearTokens(
    context,
    keys.map(({ token }) => token),
  )
}
