// Sessions over REST: signs in, signs out, and reports who is signed in.

import { isoTime } from '../../core/time.ts'
import { type ApiRoute, ok, readFields, requireText } from '../api.ts'
import { overTls } from '../host.ts'
import type { Gatekeeper } from '../session.ts'

const MAX_TOKEN_CHARACTERS = 4096

export function sessionRoutes(gatekeeper: Gatekeeper): ApiRoute[] {
  return [
    {
      method: 'POST',
      path: '/api/v1/session',
      open: true,
      async answer(request) {
        const fields = await readFields(request, ['token'])
        const token = requireText(fields, 'token', MAX_TOKEN_CHARACTERS)
        const signedIn = await gatekeeper.signIn(token, {
          address: request.address,
          secure: overTls(request.headers),
        })
        return {
          status: 201,
          body: { expires_at: isoTime(signedIn.expiresAtMs) },
          headers: { 'set-cookie': signedIn.cookie },
        }
      },
    },
    {
      method: 'GET',
      path: '/api/v1/session',
      async answer(request) {
        const session = gatekeeper.require(request.headers)
        return ok({ user: 'admin', expires_at: isoTime(session.expiresAtMs) })
      },
    },
    {
      method: 'DELETE',
      path: '/api/v1/session',
      async answer(request) {
        const cookie = await gatekeeper.signOut(request.headers, overTls(request.headers))
        return { status: 200, body: { signed_out: true }, headers: { 'set-cookie': cookie } }
      },
    },
  ]
}
