// Keeps the verified certificates of clients by connection. Must not load `node:tls`.

import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { clientNamesOf } from '../core/certificate.ts'
import type { ClientCertificate } from '../pipeline/call/client.ts'

const certificates = new WeakMap<Socket, ClientCertificate>()

/**
 * Notes the certificate of a connection, if it has one that the listener's authorities vouch for.
 * To be called once the handshake is complete: TLS 1.2 lets a client show another one later.
 */
export function noteCertificate(socket: TLSSocket): void {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined
  if (certificate === undefined) return
  const expiresAtMs = certificate.validToDate.getTime()
  certificates.set(socket, { names: clientNamesOf(certificate), expiresAtMs })
}

/** Returns the certificate of a connection; null without a verified one. */
export const certificateOf = (socket: Socket): ClientCertificate | null => certificates.get(socket) ?? null
