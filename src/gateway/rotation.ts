// Logs when the content of a secret's file changes, so that the operator can revoke the old secret.

import type { Config } from '../core/config.ts'
import { formatPath } from '../core/document.ts'
import { OIDC_PATH } from '../core/oidc-config.ts'
import type { Secret } from '../core/secret.ts'
import type { GatewayLogger } from './logger.ts'

/** Logs every new value and every unusable one by the name of its setting, never the value. */
export function logRotations({ upstreams, admin, fleet, pii }: Config, logger: GatewayLogger): void {
  const secrets: [string, Secret | null][] = [
    ...upstreams.map(({ declaredAt, apiKey }): [string, Secret | null] => [
      formatPath([...declaredAt, 'apiKey']),
      apiKey,
    ]),
    ...admin.tokens.map(({ tokenAt, token }): [string, Secret | null] => [formatPath(tokenAt), token]),
    [formatPath([...OIDC_PATH, 'clientSecret']), admin.oidc?.clientSecret ?? null],
    ['pii.pseudonymKey', pii.pseudonymKey],
    ['fleet.ca', fleet?.ca ?? null],
    ['fleet.token', fleet?.token ?? null],
  ]
  for (const [setting, secret] of secrets) {
    secret?.onTurn((problem) => {
      if (problem === null) logger.info({ setting }, 'the value in the secret’s file is in force')
      else logger.warn({ setting, problem }, 'the secret’s file cannot be used; the last good value stays')
    })
  }
}
