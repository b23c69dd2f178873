// Secrets in files that change while the gateway runs: told, so that an old one can be revoked in time.

import type { Config } from '../core/config.ts'
import type { GatewayLogger } from './logger.ts'

/** Logs each new value, and each that cannot be used, by the name of its setting. */
export function tellRotations({ upstream, admin }: Config, logger: GatewayLogger): void {
  const secrets = { 'upstream.apiKey': upstream.apiKey, 'admin.token': admin.token }
  for (const [setting, secret] of Object.entries(secrets)) {
    secret?.onTurn((problem) => {
      if (problem === null) logger.info({ setting }, 'the value in the secret’s file is in force')
      else logger.warn({ setting, problem }, 'the secret’s file cannot be used; the last good value stays')
    })
  }
}
