// The certificates of connections to an upstream: as OpenSSL takes them, and why it would not.

import type { Path } from '../core/document.ts'
import type { UpstreamConfig } from '../core/upstream-config.ts'

export const certificatesOf = ({ ca, certificate, key }: UpstreamConfig['tls']) => ({
  ca,
  cert: certificate,
  key,
})

/** Returns the upstreams that no connection could be opened to, at their keys. */
export function findUnusableCertificates(
  upstreams: readonly Pick<UpstreamConfig, 'declaredAt' | 'tls'>[],
): readonly { readonly path: Path; readonly message: string }[] {
  return upstreams.flatMap(({ declaredAt, tls }) => {
    const reason = Object.values(tls).every((text) => text !== '') ? whyNotConnect(tls) : null
    return reason === null ? [] : [{ path: [...declaredAt, 'tls'], message: reason }]
  })
}

function whyNotConnect(tls: UpstreamConfig['tls']): string | null {
  if (Object.keys(tls).length === 0) return null
  try {
    process.getBuiltinModule('node:tls').createSecureContext(certificatesOf(tls))
    return null
  } catch (error) {
    return `is refused by OpenSSL (${(error as Error).message}); write PEM files, and the key that belongs to the certificate`
  }
}
