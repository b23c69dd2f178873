// Sessions over REST: signs in, signs out, reports who is signed in, and ends the sessions of
// others.

import type { Session } from '../../core/admin-session.ts'
import type { JsonObject } from '../../core/json.ts'
import { isoTime } from '../../core/time.ts'
import { type ApiRoute, ok, readFields, requireText } from '../api.ts'
import { operation } from '../openapi/operation-builders.ts'
import type { Gatekeeper } from '../session.ts'
import type { SessionStore } from '../session-store.ts'

const MAXIMUM_TOKEN_CHARACTERS = 4096

export function sessionRoutes(
  gatekeeper: Gatekeeper,
  sessions: Pick<SessionStore, 'list' | 'end'>,
): ApiRoute[] {
  return [
    {
      method: 'POST',
      path: '/api/v1/session',
      access: 'open',
      operation: operation('Signs in.', {
        statuses: [201],
        answer: 'Session',
        body: 'SignIn',
        errors: [401, 429, 503],
      }),
      async answer(request) {
        const fields = await readFields(request, ['token'])
        const token = requireText(fields, 'token', MAXIMUM_TOKEN_CHARACTERS)
        const { session, cookie } = await gatekeeper.signIn(token, request)
        return { status: 201, body: describeSession(session), headers: { 'set-cookie': cookie } }
      },
    },
    {
      method: 'GET',
      path: '/api/v1/session',
      access: 'viewer',
      operation: operation('Reports who is signed in.', { answer: 'Session' }),
      answer: async ({ session }) => ok(describeSession(session)),
    },
    {
      method: 'DELETE',
      path: '/api/v1/session',
      access: 'viewer',
      operation: operation('Signs out.', { answer: 'SignedOut' }),
      async answer(request) {
        const cookie = await gatekeeper.signOut(request.headers)
        return { status: 200, body: { signed_out: true }, headers: { 'set-cookie': cookie } }
      },
    },
    {
      method: 'GET',
      path: '/api/v1/sessions',
      access: 'admin',
      operation: operation('Lists the sessions of all administrators, newest first.', {
        answer: 'Sessions',
      }),
      async answer(request) {
        const list = (await sessions.list()).map((session) => ({
          id: session.id,
          created_at: isoTime(session.createdAtMs),
          ...describeSession(session),
          current: session.id === request.session.id,
        }))
        return ok({ sessions: list, total: list.length })
      },
    },
    {
      method: 'DELETE',
      path: '/api/v1/sessions/:id',
      access: 'admin',
      operation: operation('Ends a session.', {
        answer: 'EndedSession',
        errors: [404, 503],
      }),
      async answer(request) {
        const session = await sessions.end(request.params['id'] ?? '', request.session.name)
        return ok({ id: session.id, created_at: isoTime(session.createdAtMs), ...describeSession(session) })
      },
    },
  ]
}

/** `user` is the name by which releases with one token called it. */
export const describeSession = ({ name, role, via, expiresAtMs }: Session): JsonObject => ({
  user: name,
  name,
  role,
  via,
  expires_at: isoTime(expiresAtMs),
})
