// Who may sign in to a hub, and what of its configuration a reload replaces.

import { randomBytes } from 'node:crypto'
import { systemClock } from '../core/clock.ts'
import { HUB_RELOADABLE, type ReloadableHubConfig } from '../core/config-changes.ts'
import type { HubConfig, HubConfigReading } from '../core/hub-config.ts'
import { AdminAccess } from '../gateway/admin-access.ts'
import { LiveConfig } from '../gateway/live-config.ts'
import type { GatewayLogger } from '../gateway/logger.ts'
import type { Database } from '../ledger/database.ts'
import type { HubLog } from '../ledger/hub-log.ts'
import { sharedSecret } from '../ledger/secrets.ts'
import type { SessionLedger } from '../ledger/session-ledger.ts'
import type { HubMetrics } from '../metrics/hub-metrics.ts'
import { LOGIN_KEY_BYTES } from '../server/login-cookie.ts'
import { SignInJournal } from '../server/sign-in-journal.ts'

interface SignInSources {
  readonly config: HubConfig
  readonly database: Database
  readonly log: HubLog
  readonly sessions: SessionLedger
  readonly logger: GatewayLogger
  readonly metrics: HubMetrics
}

/** @throws GatewayError (rejects) `fleet_unavailable` */
export async function adminAccess(sources: SignInSources): Promise<AdminAccess> {
  const { config, database, log, sessions, logger, metrics } = sources
  const journal = new SignInJournal({
    log: {
      change: async (decide) => {
        const { result } = await log.change(async () => ({ ...decide(), feed: [] }))
        return result
      },
    },
    ...{ logger, metrics, clock: systemClock },
  })
  const loginKey = await sharedSecret(database, 'login_cookie', randomBytes(LOGIN_KEY_BYTES))
  return new AdminAccess(config.admin, { sessions, journal, clock: systemClock, loginKey })
}

/** The configuration of a hub. */
export type LiveHubConfig = LiveConfig<HubConfig, keyof ReloadableHubConfig>

/** Follows the file of a reading without problems. */
export const followConfig = (
  reading: HubConfigReading,
  access: Pick<AdminAccess, 'replace'>,
  logger: GatewayLogger,
): LiveHubConfig =>
  new LiveConfig({
    reading,
    source: reading.source,
    reloadable: HUB_RELOADABLE,
    replace({ admin, log, ...others }, isSame) {
      // A row of HUB_RELOADABLE that nothing here takes is an error of this line.
      others satisfies Record<string, never>
      if (!isSame(['admin'])) access.replace(admin)
      logger.level = log.level
    },
    logger,
  })
