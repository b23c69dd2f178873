// Reads how a listener serves TLS, and finds what is wrong with its certificate before a start.

import { findTlsFaults, type TlsMaterial, type TlsVersion } from './certificate.ts'
import { type Context, readSecret, type SecretReference } from './config-values.ts'
import type { Path } from './document.ts'
import { secret } from './schema-parts.ts'
import type { Secret } from './secret.ts'

/** A certificate, its key and the terms of a listener. */
export interface TlsTerms {
  /** Where the file declares them. */
  readonly declaredAt: Path
  /** Null when it cannot be read, which is a problem of the configuration, like `key`. */
  readonly certificate: Secret | null
  readonly key: Secret | null
  /** Null when no client certificate is requested. */
  readonly clientCa: Secret | null
  readonly minVersion: TlsVersion
}

export interface DeclaredTls {
  readonly certificate?: SecretReference
  readonly key?: SecretReference
  readonly clientCa?: SecretReference
  readonly minVersion: TlsVersion
}

const HINT = 'mount the certificate of the listener and its key'
const CA_HINT = 'mount the certificates of the authorities that sign certificates of clients'

/** Reads the terms at a path. Null without any. */
export function readTls(context: Context, path: Path, declared: DeclaredTls | undefined): TlsTerms | null {
  if (declared === undefined) return null
  const read = (part: 'certificate' | 'key' | 'clientCa', hint: string) =>
    readSecret(context, [...path, part], declared[part], hint)
  const terms: TlsTerms = {
    declaredAt: context.origin(path),
    certificate: read('certificate', HINT),
    key: read('key', HINT),
    clientCa: read('clientCa', CA_HINT),
    minVersion: declared.minVersion,
  }
  for (const { part, reason } of findTlsFaults(partsOf(terms), context.clock.now()))
    context.add([...path, part], reason)
  return terms
}

const partsOf = ({ certificate, key, clientCa }: TlsTerms) => ({
  certificate: certificate?.current() ?? null,
  key: key?.current() ?? null,
  clientCa: clientCa?.current() ?? null,
})

/** Reads what a listener serves with now, of terms without a problem. */
export const materialOf = (terms: TlsTerms): TlsMaterial => ({
  certificate: terms.certificate!.current(),
  key: terms.key!.current(),
  clientCa: terms.clientCa?.current() ?? null,
  minVersion: terms.minVersion,
})

/** JSON Schema of the terms of a listener that does not look at client certificates. */
export const serverTls = (description: string) => ({
  description,
  type: 'object',
  additionalProperties: false,
  required: ['certificate', 'key'],
  properties: {
    certificate: secret('The certificate and those that lead to its authority, PEM.'),
    key: secret('The private key of the certificate, PEM.'),
    minVersion: {
      description: 'Oldest version of TLS that is served.',
      enum: ['1.2', '1.3'],
      default: '1.2',
    },
  },
})

/** JSON Schema of the terms of a listener that may request client certificates. */
export function mutualTls(description: string) {
  const schema = serverTls(description)
  const clientCa = secret(
    'Certificates of the authorities that sign certificates of clients, PEM. With it the listener requests a certificate of each client, which may stand for a key (`keys[].clientCertificate`). A client without one is served as before.',
  )
  return { ...schema, properties: { ...schema.properties, clientCa } }
}

/** JSON Schema of the client certificate that stands for a key. */
export const CERTIFICATE_KEY_SCHEMA = {
  description:
    'A client certificate in place of a key: a call over a connection with it needs no bearer. A bearer that is sent counts instead. Needs `listen.tls.clientCa`.',
  type: 'object',
  additionalProperties: false,
  required: ['san'],
  properties: {
    san: {
      description:
        'A subject alternative name of the certificate, exactly as it is there: a URI such as `spiffe://cluster.local/ns/shop/sa/web`, or a DNS name.',
      type: 'string',
      minLength: 1,
      maxLength: 2048,
      pattern: '^[\\x21-\\x7e]+$',
    },
  },
} as const
