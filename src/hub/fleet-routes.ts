// The fleet over REST: who is connected, who is gone, and who has a change of a key or a rule.

import { GatewayError } from '../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { isoTime } from '../core/time.ts'
import { ENFORCED_TERMS, isGiven } from '../keys/fleet-key.ts'
import type { LogStateRow, LogStates } from '../ledger/log-states.ts'
import type { SidecarLedger, SidecarRow } from '../ledger/sidecar-ledger.ts'
import type { RuleDeclaration } from '../policy/rule.ts'
import { featuresOf } from '../policy/rule-features.ts'
import { readDeclaration } from '../rules/declaration.ts'
import { type ApiRoute, ok, type SessionRequest } from '../server/api.ts'
import { operation } from '../server/openapi/operation-builders.ts'
import { QueryString } from '../server/query-string.ts'
import type { eraseRoute } from '../server/routes/erase.ts'
import { ackedRevOf, type Confirmation, isHeard, type OpenFeed } from './confirmation.ts'
import { type Needs, whyNotEnforceable } from './enforceable.ts'
import type { Feeds } from './feeds.ts'
import type { FleetState } from './fleet-state.ts'
import type { HubPolicy } from './hub-policy.ts'

interface FleetRouteParts {
  readonly state: FleetState
  readonly sidecars: SidecarLedger
  readonly states: Pick<LogStates, 'list'>
  readonly feeds: Feeds
  readonly policy: Pick<HubPolicy, 'unsentTo'>
  readonly catchUp: () => Promise<void>
}

export function fleetRoutes(parts: FleetRouteParts): ApiRoute[] {
  const { state, sidecars, states, feeds, policy, catchUp } = parts
  return [
    {
      method: 'GET',
      path: '/api/v1/fleet',
      access: 'viewer',
      operation: operation('Lists the hubs and the sidecars, and keys that they disagree about.', {
        answer: 'Fleet',
        errors: [400, 503],
      }),
      async answer({ search }) {
        new QueryString(search, [])
        await catchUp()
        const [rows, hubs, logs] = await Promise.all([sidecars.list(), sidecars.hubs(), states.list()])
        const logsOf = Map.groupBy(logs, ({ sidecar }) => sidecar)
        const unsentTo = unsentRules(policy)
        return ok({
          epoch: state.epoch,
          rev: state.rev,
          hubs: hubs.map(({ id, version, connected, seen_at }) => ({
            ...{ id, version, connected, seen_at: isoTime(seen_at) },
          })),
          sidecars: rows.map((row) => ({
            ...sidecarFields(row, state.rev, feeds),
            logs: (logsOf.get(row.id) ?? []).map(logFields),
            unsent_rules: unsentTo(row),
          })),
          total: rows.length,
          conflicts: conflictsOf(rows, state),
        })
      },
    },
    {
      method: 'DELETE',
      path: '/api/v1/fleet/:id',
      access: 'admin',
      operation: operation('Declares a sidecar gone that runs no more: changes no longer wait for it.', {
        answer: 'GoneSidecar',
        errors: [404, 409, 503],
      }),
      async answer({ params, session }) {
        const id = params['id'] ?? ''
        await feeds.leave(id, () => sidecars.declareGone(id, session.name))
        return ok({ id, state: 'gone' })
      },
    },
  ]
}

/** Finds the rules that a sidecar does not get, once for sidecars that are alike. */
function unsentRules(policy: Pick<HubPolicy, 'unsentTo'>): (row: SidecarRow) => string[] {
  const known = new Map<string, string[]>()
  return ({ namespace, features }) => {
    const key = JSON.stringify([namespace, features])
    const names = known.get(key) ?? policy.unsentTo(namespace, features)
    known.set(key, names)
    return names
  }
}

const sidecarFields = (row: SidecarRow, rev: number, feeds: Feeds): JsonObject => {
  const feed = feeds.feed(row.id)
  const acked = ackedRevOf(row, feed)
  return {
    id: row.id,
    name: row.name,
    cluster: row.cluster,
    namespace: row.namespace,
    version: row.version,
    state: stateOf(row, feed),
    // What was sent to it.
    rev: feed === undefined ? acked : rev,
    acked_rev: acked,
    last_seen_at: isoTime(row.contact_at),
    max_stale_seconds: row.max_stale_seconds,
    nack: row.nack,
  }
}

const logFields = ({ log_id: log, seq, state, last_at }: LogStateRow): JsonObject => ({
  ...{ log, seq, state },
  last_at: isoTime(last_at),
})

const stateOf = (row: SidecarRow, feed: OpenFeed | undefined): string => {
  if (row.state === 'left' || row.state === 'gone') return row.state
  return isHeard(row, feed) ? 'connected' : 'silent'
}

/** Keys that are active here and revoked at a sidecar: the database is older than that. */
function conflictsOf(rows: readonly SidecarRow[], state: FleetState): JsonObject[] {
  const ids = new Set(rows.flatMap(({ conflicts }) => conflicts).filter((id) => state.isActive(id)))
  return [...ids].sort().map((id) => ({
    key_id: id,
    key_name: state.nameOf(id),
    sidecars: rows.filter(({ conflicts }) => conflicts.includes(id)).map(({ name }) => name),
  }))
}

/** Returns what sidecars must know to enforce a key or a rule as asked; null for nothing new. */
export type NeedsOf = (body: JsonObject, id: string) => Needs | null

interface ConfirmedParts {
  readonly confirmation: Confirmation
  readonly sidecars: Pick<SidecarLedger, 'list'>
}

/**
 * Adds to each change of a key or a rule which sidecars have it, and refuses one that a connected
 * sidecar cannot enforce.
 */
export function confirmed(
  routes: readonly ApiRoute[],
  needsOf: NeedsOf,
  { confirmation, sidecars }: ConfirmedParts,
): ApiRoute[] {
  return routes.map((route): ApiRoute => {
    if (route.method === 'GET' || route.access === 'open') return route
    const isChecked = route.method === 'PATCH' || route.method === 'POST'
    const operation = withConfirmation(route.operation, isChecked)
    return {
      ...route,
      operation,
      async answer(asked: SessionRequest) {
        let read: Promise<JsonValue> | null = null
        const body = () => (read ??= asked.body())
        const request = { ...asked, body }
        if (isChecked) await assertEnforceable(request, needsOf, sidecars)
        const answer = await route.answer(request)
        if (!isObject(answer.body)) return answer
        return { ...answer, body: { ...answer.body, fleet: await confirmation.confirm() } }
      },
    }
  })
}

/** Adds to the answer of an erasure which sidecars have applied the order. */
export const confirmedErasure = (
  route: ReturnType<typeof eraseRoute>,
  confirmation: Confirmation,
): ApiRoute => ({
  ...route,
  operation: operation(
    'Erases captured exchanges here, and orders every sidecar to. Their entries stay, and the erasure is sealed.',
    { ...route.operation.details, answer: 'OrderedErasure', errors: [400, 409, 503] },
  ),
  async answer(request: SessionRequest) {
    const answer = await route.answer(request)
    const { body } = answer
    if (!isObject(body)) return answer
    return { ...answer, body: { ...body, fleet: await confirmation.confirm(Number(body['order'])) } }
  },
})

const PARTIAL = 'allow_partial'

const withConfirmation = (
  { summary, details }: ApiRoute['operation'],
  isChecked: boolean,
): ApiRoute['operation'] => ({
  summary,
  details: {
    ...details,
    answer: `Confirmed${details.answer}`,
    ...(isChecked && { query: { ...details.query, [PARTIAL]: { enum: [1] } } }),
  },
})

/** @throws GatewayError (rejects) `conflict` that names the sidecars; `invalid_parameter` */
async function assertEnforceable(
  request: SessionRequest,
  needsOf: NeedsOf,
  sidecars: Pick<SidecarLedger, 'list'>,
): Promise<void> {
  if (new QueryString(request.search, [PARTIAL]).integer(PARTIAL, 0, 0, 1) === 1) return
  const body = await request.body()
  const needs = isObject(body) ? needsOf(body, request.params['id'] ?? '') : null
  if (needs === null) return
  const refused = whyNotEnforceable(await sidecars.list(), [needs])
  if (refused === null) return
  throw new GatewayError(
    'conflict',
    `${refused.message}. Upgrade them, or add ?${PARTIAL}=1 and they do not get it.`,
  )
}

/** Globs that a request names; null for all. The change refuses what is no list. */
const globsIn = (namespaces: unknown): string[] | null =>
  Array.isArray(namespaces) ? namespaces.filter((glob) => typeof glob === 'string') : null

/** The needs of a new or changed key. */
export const keyNeeds =
  (state: Pick<FleetState, 'termsOf' | 'namespacesOf'>): NeedsOf =>
  (body, id) => {
    // The old key of a rotation ends by its expiry.
    const ending = 'grace_seconds' in body ? { expires_at: '' } : {}
    const after: JsonObject = { ...state.termsOf(id), ...ending, ...body }
    const { namespaces = state.namespacesOf(id) } = body
    return {
      features: ENFORCED_TERMS.filter((term) => isGiven(after[term])),
      namespaces: globsIn(namespaces),
    }
  }

/** Returns null for a malformed rule, which no sidecar could enforce: the change refuses it. */
function declarationIn(fields: JsonObject): RuleDeclaration | null {
  try {
    return readDeclaration(fields).rule
  } catch (error) {
    if (error instanceof GatewayError) return null
    throw error
  }
}

/** The needs of a new rule, or of one that is switched on. */
export const ruleNeeds =
  (policy: Pick<HubPolicy, 'needsOf'>): NeedsOf =>
  (body, id) => {
    if (id === '') {
      const { namespaces, ...fields } = body
      const declaration = declarationIn(fields)
      return declaration && { features: featuresOf(declaration), namespaces: globsIn(namespaces) }
    }
    const rule = body['enabled'] === true ? policy.needsOf(id) : null
    return rule && { features: featuresOf(rule.declaration), namespaces: rule.namespaces }
  }
