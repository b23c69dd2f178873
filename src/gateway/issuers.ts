// The issuers whose tokens stand for keys, as a gateway runs them: logs and counts what they refuse
// and how their public keys are read.

import type { Clock, Milliseconds } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { systemTimers } from '../core/timers.ts'
import { TOKEN_CHECKS, type TokenCheck } from '../jwt/token-check.ts'
import { TokenKeys, type TokenKeysParts } from '../jwt/token-keys.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { GatewayLogger } from './logger.ts'

interface IssuersParts {
  readonly clock: Clock
  readonly logger: GatewayLogger
  readonly metrics: Pick<Metrics, 'tokensRefused' | 'issuerKeyLoads'>
}

/** Least time between two log lines of refusals by one check: anyone can send a bad token. */
const REFUSAL_LINE_MS: Milliseconds = 10_000

/**
 * Returns null when no key is a token of an issuer.
 * @param before as in TokenKeys
 */
export function openIssuers(
  { keys }: Pick<Config, 'keys'>,
  { clock, logger, metrics }: IssuersParts,
  before: TokenKeys | null = null,
): TokenKeys | null {
  const issued = keys.flatMap(({ sha256, token }) => (token === null ? [] : [{ sha256, identity: token }]))
  if (issued.length === 0) return null
  for (const reason of TOKEN_CHECKS) metrics.tokensRefused.inc({ reason }, 0)
  for (const result of ['ok', 'error']) metrics.issuerKeyLoads.inc({ result }, 0)
  const refusals = new Map<TokenCheck, { count: number; loggedMs: Milliseconds }>()
  const problems = new Map<string, string | null>()
  const parts: TokenKeysParts = {
    keys: issued,
    clock,
    timers: systemTimers,
    onRefused(reason) {
      metrics.tokensRefused.inc({ reason })
      const nowMs = clock.monotonic()
      const { count, loggedMs } = refusals.get(reason) ?? { count: 0, loggedMs: Number.NEGATIVE_INFINITY }
      const isLogged = nowMs - loggedMs >= REFUSAL_LINE_MS
      if (isLogged) logger.info({ reason, calls: count + 1 }, 'calls were refused because of their tokens')
      refusals.set(reason, { count: isLogged ? 0 : count + 1, loggedMs: isLogged ? nowMs : loggedMs })
    },
    onLoad(issuer, keySet, problem) {
      metrics.issuerKeyLoads.inc({ result: problem === null ? 'ok' : 'error' })
      const place = JSON.stringify([issuer, keySet])
      if (problems.get(place) === problem) return
      problems.set(place, problem)
      if (problem === null) logger.info({ issuer, keySet }, 'the keys of the issuer are in force')
      else {
        const message = 'the keys of the issuer cannot be read; the last good ones, if any, stay in force'
        logger.warn({ issuer, keySet, problem }, message)
      }
    },
  }
  return new TokenKeys(parts, before)
}
