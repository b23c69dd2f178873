// The management API of a hub: every route and the parts it works on.

import { systemClock } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import { isoTime } from '../core/time.ts'
import { VERSION } from '../core/version.ts'
import type { AdminAccess } from '../gateway/admin-access.ts'
import { HUB_TERM_FIELDS } from '../keys/key-terms-fields.ts'
import type { JoinTokens } from '../ledger/join-tokens.ts'
import type { KeyLedger } from '../ledger/key-ledger.ts'
import type { LogStates } from '../ledger/log-states.ts'
import type { SessionLedger } from '../ledger/session-ledger.ts'
import type { SidecarLedger } from '../ledger/sidecar-ledger.ts'
import type { ApiRoute } from '../server/api.ts'
import { operation } from '../server/openapi/operation-builders.ts'
import { SERVED_BY } from '../server/openapi.ts'
import { checkpointRoute } from '../server/routes/checkpoint.ts'
import { eraseRoute } from '../server/routes/erase.ts'
import { type Keys, keyRoutes } from '../server/routes/keys.ts'
import { openApiRoutes } from '../server/routes/openapi.ts'
import { priceRoutes } from '../server/routes/prices.ts'
import { HUB_RULE_FIELDS, ruleRoutes } from '../server/routes/rules.ts'
import { sessionRoutes } from '../server/routes/session.ts'
import { singleSignOnRoutes } from '../server/routes/single-sign-on.ts'
import { statusRoute } from '../server/routes/status.ts'
import { MADE } from './confirmation.ts'
import type { Fleet } from './fleet.ts'
import { confirmed, confirmedErasure, fleetRoutes, keyNeeds, ruleNeeds } from './fleet-routes.ts'
import type { HubCheckpoints } from './hub-checkpoints.ts'
import type { HubErasures } from './hub-erasures.ts'
import type { HubPolicy } from './hub-policy.ts'
import { joinRoutes } from './join-routes.ts'
import { type LogRouteParts, logRoutes } from './log-routes.ts'

const STATUS = operation('Reports the state of this hub.', { answer: 'HubStatus', errors: [400] })

interface HubRouteParts extends Omit<LogRouteParts, 'gatekeeper'> {
  readonly admin: AdminAccess
  readonly keys: KeyLedger
  readonly sessions: SessionLedger
  readonly joinTokens: JoinTokens
  readonly checkpoints: HubCheckpoints
  readonly erasures: HubErasures
  readonly fleet: Fleet
  readonly sidecars: SidecarLedger
  readonly states: LogStates
  readonly policy: HubPolicy
}

export function hubRoutes(parts: HubRouteParts): ApiRoute[] {
  const { keys, sessions, fleet, sidecars, states, policy } = parts
  const { gatekeeper, signOn } = parts.admin
  const begun = { version: VERSION, started_at: isoTime(systemClock.now()) }
  const { state, feeds, confirmation, catchUp } = fleet
  const shared = { confirmation, sidecars }
  const routes: ApiRoute[] = [
    ...sessionRoutes(gatekeeper, sessions),
    ...singleSignOnRoutes(gatekeeper, signOn),
    ...confirmed(keyRoutes(madeKeys(keys), systemClock, null, HUB_TERM_FIELDS), keyNeeds(state), shared),
    ...confirmed(ruleRoutes(policy.rules, policy.editor, HUB_RULE_FIELDS), ruleNeeds(policy), shared),
    ...priceRoutes(policy.prices),
    ...fleetRoutes({ state, sidecars, states, feeds, policy, catchUp }),
    ...joinRoutes(parts.joinTokens, systemClock),
    ...logRoutes({ ...parts, gatekeeper }),
    confirmedErasure(eraseRoute(parts.erasures, systemClock), confirmation),
    checkpointRoute(parts.checkpoints, 'log of the hubs'),
    {
      ...statusRoute(
        () => ({ ...begun, ...fleet.status() }),
        () => routes,
      ),
      operation: STATUS,
    },
  ]
  return [...routes, ...openApiRoutes(routes, SERVED_BY.hub)]
}

/** The keys, without the revisions of their changes. */
export const madeKeys = (keys: KeyLedger): Keys => ({
  create: async (...change) => (await keys.create(...change)).result,
  change: async (...change) => (await keys.change(...change)).result,
  rotate: async (...change) => (await keys.rotate(...change)).result,
  revoke: async (...change) => (await keys.revoke(...change)).result,
  list: () => keys.list(),
  workingPredecessors: (id) => known(keys.workingPredecessors(id)),
})

/** Reads what an answer to a change also says. The change itself is durable. */
async function known<Result>(reading: Promise<Result>): Promise<Result> {
  try {
    return await reading
  } catch (error) {
    if (!(error instanceof GatewayError && error.code === 'fleet_unavailable')) throw error
    throw new GatewayError('fleet_unavailable', MADE, { cause: error })
  }
}
