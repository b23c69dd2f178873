// Join tokens over REST: an administrator creates one, and a sidecar joins with it.

import type { Clock } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonValue } from '../core/json.ts'
import { FLEET_PATHS } from '../fleet/protocol.ts'
import type { JoinTokens } from '../ledger/join-tokens.ts'
import { type ApiRoute, ok, readFields, requireText } from '../server/api.ts'
import { operation } from '../server/openapi/operation-builders.ts'
import { ATTEMPTS, COMPARISONS, SignInThrottle } from '../server/sign-in-throttle.ts'

const MAXIMUM_NAME_CHARACTERS = 128
const MAXIMUM_TOKEN_CHARACTERS = 128
const MAXIMUM_PEM_CHARACTERS = 1024
const MINIMUM_TTL_SECONDS = 60
/** Seven days. */
const MAXIMUM_TTL_SECONDS = 7 * 86_400

/** @param clock of the limits for wrong tokens, which are those of wrong sign-ins */
export function joinRoutes(tokens: Pick<JoinTokens, 'create' | 'use'>, clock: Clock): ApiRoute[] {
  const comparisons = new SignInThrottle(clock, COMPARISONS)
  const failures = new SignInThrottle(clock, ATTEMPTS)
  return [
    {
      method: 'POST',
      path: FLEET_PATHS.join,
      access: 'open',
      takesAnyHost: true,
      operation: operation('Registers a sidecar with its public key, by a join token.', {
        answer: 'JoinedSidecar',
        body: 'SidecarJoin',
        errors: [401, 429, 503],
      }),
      async answer(request) {
        const { address } = request
        if (!comparisons.admit(address)) throw tooMany()
        const fields = await readFields(request, ['token', 'public_key'])
        const token = requireText(fields, 'token', MAXIMUM_TOKEN_CHARACTERS)
        const publicKey = requireText(fields, 'public_key', MAXIMUM_PEM_CHARACTERS)
        try {
          const { sidecar } = await tokens.use(token, publicKey)
          return ok({ sidecar })
        } catch (error) {
          const isWrong = error instanceof GatewayError && error.code === 'invalid_token'
          throw isWrong && !failures.admit(address) ? tooMany() : error
        }
      },
    },
    {
      method: 'POST',
      path: '/api/v1/fleet/tokens',
      access: 'admin',
      operation: operation('Creates a token with which one sidecar outside Kubernetes can join.', {
        statuses: [201],
        answer: 'NewJoinToken',
        body: 'JoinTokenFields',
        errors: [503],
      }),
      async answer(request) {
        const fields = await readFields(request, ['name', 'ttl_seconds'])
        const name = requireText(fields, 'name', MAXIMUM_NAME_CHARACTERS)
        const ttlSeconds = readTtl(fields['ttl_seconds'])
        const { token } = await tokens.create(name, ttlSeconds, request.session.name)
        return { status: 201, body: { token } }
      },
    },
  ]
}

function readTtl(value: JsonValue | undefined): number {
  const param = 'ttl_seconds'
  if (value === undefined)
    throw new GatewayError('missing_required_parameter', 'ttl_seconds is required.', { param })
  const isSeconds = typeof value === 'number' && Number.isInteger(value)
  if (isSeconds && value >= MINIMUM_TTL_SECONDS && value <= MAXIMUM_TTL_SECONDS) return value
  throw new GatewayError(
    'invalid_body',
    `ttl_seconds must be a whole number from ${MINIMUM_TTL_SECONDS} to ${MAXIMUM_TTL_SECONDS}.`,
    { param },
  )
}

const tooMany = (): GatewayError =>
  new GatewayError('too_many_attempts', 'Too many attempts to join; try again in a second.', {
    headers: { 'retry-after': '1' },
  })
