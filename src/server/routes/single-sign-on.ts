// Single sign-on over HTTP: the ways to sign in, the start of a sign-in and its end. A browser
// opens the last two.

import { text } from '../../core/schema-builders.ts'
import { type ApiRoute, ok } from '../api.ts'
import { LOGIN_PATH } from '../login-cookie.ts'
import { operation } from '../openapi/operation-builders.ts'
import type { Gatekeeper } from '../session.ts'
import { type SingleSignOn, signOnIsOff } from '../single-sign-on.ts'
import { describeSession } from './session.ts'

/** @param signOn returns null without single sign-on in the configuration */
export function singleSignOnRoutes(
  gatekeeper: Pick<Gatekeeper, 'methods' | 'find'>,
  signOn: () => SingleSignOn | null,
): ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/session/methods',
      access: 'open',
      operation: operation('Reports how administrators can sign in, and who is signed in.', {
        answer: 'SignInMethods',
      }),
      async answer({ headers }) {
        const session = await gatekeeper.find(headers)
        return ok({ ...gatekeeper.methods(), session: session && describeSession(session) })
      },
    },
    {
      method: 'GET',
      path: LOGIN_PATH,
      access: 'open',
      operation: operation(
        'Begins single sign-on: leads a browser to the identity provider, and from there to the callback.',
        {
          query: { return: text('Path of the page of the console to open at the end, below /console/.') },
          statuses: [302],
          pages: [404, 502],
        },
      ),
      answer: async (request) => signOn()?.start(request) ?? signOnIsOff(request),
    },
    {
      method: 'GET',
      path: `${LOGIN_PATH}/callback`,
      access: 'open',
      operation: operation(
        'Ends single sign-on: redeems the code of the identity provider, opens a session and shows a page that leads to the console.',
        {
          query: {
            code: text('Code of the identity provider.'),
            state: text('State of the sign-in that was begun.'),
            error: text('Why the identity provider signs nobody in.'),
          },
          pages: [200, 400, 403, 404, 429, 502, 503],
        },
      ),
      answer: async (request) => signOn()?.finish(request) ?? signOnIsOff(request),
    },
  ]
}
