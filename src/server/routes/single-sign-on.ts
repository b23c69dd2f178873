// Single sign-on over HTTP: the ways to sign in, the start of a sign-in and its end. A browser
// opens the last two.

import { type ApiRoute, ok } from '../api.ts'
import { LOGIN_PATH } from '../login-cookie.ts'
import type { Gatekeeper } from '../session.ts'
import { type SingleSignOn, signOnIsOff } from '../single-sign-on.ts'

/** @param signOn null without single sign-on in the configuration */
export function singleSignOnRoutes(
  gatekeeper: Pick<Gatekeeper, 'methods'>,
  signOn: SingleSignOn | null,
): ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/session/methods',
      access: 'open',
      answer: async () => ok(gatekeeper.methods()),
    },
    {
      method: 'GET',
      path: LOGIN_PATH,
      access: 'open',
      answer: async (request) => signOn?.start(request) ?? signOnIsOff(),
    },
    {
      method: 'GET',
      path: `${LOGIN_PATH}/callback`,
      access: 'open',
      answer: async (request) => signOn?.finish(request) ?? signOnIsOff(),
    },
  ]
}
