// The rules, overrides and prices of a fleet. A change is sealed, and numbered for the feed, in the
// transaction that makes it. What sidecars get is read by fleet-reading.

import type { ChangeDraft } from '../audit/change-draft.ts'
import { GATEWAY_ACTOR } from '../core/actor.ts'
import type { Clock, Milliseconds } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import { isoTime, isoTimeOrNull } from '../core/time.ts'
import { type FleetPrices, MAXIMUM_FLEET_OVERRIDES, NO_FLEET_PRICES } from '../policy/fleet-policy.ts'
import { type ApiRule, nameKey, type RuleDeclaration, type RuleOverride } from '../policy/rule.ts'
import { sealedParts, sealedRule } from '../policy/sealed-rules.ts'
import { onlyRow, type Queries } from './database.ts'
import type { FeedChange, HubLog, LedgerOptions } from './hub-log.ts'

/** A rule as the files of a hub declare it. */
export interface DeclaredFileRule {
  readonly id: string
  readonly declaration: RuleDeclaration
  /** Globs; null for every namespace. */
  readonly namespaces: readonly string[] | null
  /** Name of the file, the same at every hub. */
  readonly path: string
  readonly line: number
}

/** A rule as the database has it. */
export interface LedgerRule extends Omit<DeclaredFileRule, 'path' | 'line'> {
  readonly source: 'file' | 'api'
  readonly path: string | null
  readonly line: number | null
  readonly createdAtMs: Milliseconds
  readonly updatedAtMs: Milliseconds
}

export interface LedgerOverride extends RuleOverride {
  readonly rev: number
}

/** Everything that a hub says of the policy of its sidecars. */
export interface LedgerPolicy {
  /** Rules of files in their order, then those of the API by age. */
  readonly rules: readonly LedgerRule[]
  readonly overrides: readonly LedgerOverride[]
  readonly prices: FleetPrices
}

/** Kinds of changes of it in the feed. */
export const POLICY_KINDS = ['rule', 'rules', 'override', 'prices']

/** The set of rule files, as one change. */
const FILES_ID = 'files'

const MS = (column: string) => `(extract(epoch from ${column}) * 1000)::bigint`

/** Reads all of it at one moment. @throws GatewayError (rejects) `fleet_unavailable` */
export async function readPolicy(queries: Queries): Promise<LedgerPolicy> {
  const { rules, overrides, prices } = await onlyRow(
    queries.rows<{ rules: LedgerRule[]; overrides: LedgerOverride[]; prices: FleetPrices | null }>(
      `select
        (select coalesce(json_agg(r), '[]') from (
           select id, source, declaration, namespaces, path, line,
             ${MS('created_at')} as "createdAtMs", ${MS('updated_at')} as "updatedAtMs"
           from rule order by source desc, position, created_at, id) r) as rules,
        (select coalesce(json_agg(o), '[]') from (
           select rule_id as "ruleId", rule_name as "ruleName", enabled, reason,
             ${MS('expires_at')} as "expiresAtMs", declared_hash as "declaredHash",
             ${MS('created_at')} as "createdAtMs", rev
           from override order by rule_id) o) as overrides,
        (select row_to_json(p) from (select revision, prices, unknown_price from price_book) p) as prices`,
    ),
  )
  // A file has declared the name since: its rule counts.
  const names = new Set(rules.filter(isOfFile).map(({ declaration }) => nameKey(declaration.name)))
  const counting = rules.filter((rule) => isOfFile(rule) || !names.has(nameKey(rule.declaration.name)))
  return { rules: counting, overrides, prices: prices ?? NO_FLEET_PRICES }
}

const isOfFile = ({ source }: LedgerRule): boolean => source === 'file'

export class PolicyLedger {
  readonly #log: HubLog
  readonly #clock: Pick<Clock, 'now'>

  constructor({ log, clock }: Pick<LedgerOptions, 'log' | 'clock'>) {
    this.#log = log
    this.#clock = clock
  }

  /**
   * Puts the rules of files in place of those before; equal ones change nothing.
   * @returns whether they changed anything
   * @throws GatewayError (rejects) `fleet_unavailable`
   */
  async replaceFiles(revision: string, rules: readonly DeclaredFileRule[]): Promise<boolean> {
    const { result } = await this.#log.change(async (queries) => {
      const { rules: before } = await readPolicy(queries)
      if (isSame(before.filter(isOfFile), rules)) return { draft: null, feed: [], result: false }
      const drafts = loadedDrafts(revision, rules)
      const change = {
        kind: 'rules',
        id: FILES_ID,
        op: 'put',
        body: { revision, rules: rules.length },
        write: (inside: Queries, rev: number) => writeFiles(inside, rules, isoTime(this.#clock.now()), rev),
      } as const
      return { draft: drafts.pop()!, before: drafts, feed: [change], result: true }
    })
    return result
  }

  /** As `replaceFiles`, for prices. @param lines of the price file */
  async replacePrices(prices: FleetPrices, lines: number): Promise<boolean> {
    const { result } = await this.#log.change(async (queries) => {
      const before = (await readPolicy(queries)).prices
      if (before.revision === prices.revision && before.unknown_price === prices.unknown_price)
        return { draft: null, feed: [], result: false }
      const { revision, unknown_price } = prices
      const body = { revision, unknown_price }
      const draft = { type: 'prices_loaded', ...body, prices: lines, actor: GATEWAY_ACTOR } as const
      const feed = { kind: 'prices', id: FILES_ID, op: 'put', body, write: writerOf(prices) } as const
      return { draft, feed: [feed], result: true }
    })
    return result
  }

  /** @throws GatewayError (rejects) `conflict` for a name that exists, `fleet_unavailable` */
  async putRule(rule: ApiRule, draft: ChangeDraft): Promise<void> {
    await this.#log.change(async (queries) => {
      const key = nameKey(rule.name)
      const [same] = await queries.rows<{ id: string }>(
        'select id from rule where name_key = $1 and id <> $2',
        [key, rule.id],
      )
      if (same !== undefined)
        throw new GatewayError(
          'conflict',
          `A rule named \`${rule.name}\` exists already; choose another name.`,
        )
      return { draft, feed: [apiRuleChange(rule, key)], result: null }
    })
  }

  /** Deletes a rule of the API, if it is there. */
  async deleteRule(id: string, draft: ChangeDraft): Promise<void> {
    await this.#log.change(async (queries) => {
      const [found] = await queries.rows("select id from rule where id = $1 and source = 'api'", [id])
      if (found === undefined) return { draft: null, feed: [], result: null }
      const write = (inside: Queries) => inside.rows('delete from rule where id = $1', [id])
      return { draft, feed: [{ kind: 'rule', id, op: 'del', body: null, write }], result: null }
    })
  }

  /** @throws GatewayError (rejects) `conflict` at MAXIMUM_FLEET_OVERRIDES, `fleet_unavailable` */
  async putOverride(override: RuleOverride, draft: ChangeDraft): Promise<void> {
    await this.#log.change(async (queries) => {
      const { count } = await onlyRow(
        queries.rows<{ count: number }>('select count(*) as count from override where rule_id <> $1', [
          override.ruleId,
        ]),
      )
      if (count >= MAXIMUM_FLEET_OVERRIDES)
        throw new GatewayError(
          'conflict',
          `There are ${MAXIMUM_FLEET_OVERRIDES} overrides; withdraw some, or change the rule files.`,
        )
      return { draft, feed: [overrideChange(override)], result: null }
    })
  }

  /** Ends an override, if it is there and no newer one of its rule. */
  async deleteOverride(
    { ruleId, createdAtMs }: Pick<RuleOverride, 'ruleId' | 'createdAtMs'>,
    draft: ChangeDraft,
  ): Promise<void> {
    await this.#log.change(async (queries) => {
      const [found] = await queries.rows('select 1 from override where rule_id = $1 and created_at = $2', [
        ruleId,
        isoTime(createdAtMs),
      ])
      if (found === undefined) return { draft: null, feed: [], result: null }
      const write = (inside: Queries) => inside.rows('delete from override where rule_id = $1', [ruleId])
      return { draft, feed: [{ kind: 'override', id: ruleId, op: 'del', body: null, write }], result: null }
    })
  }
}

/** Compares all but times, so that hubs with the same files do not write in turn. */
function isSame(before: readonly LedgerRule[], after: readonly DeclaredFileRule[]): boolean {
  const textOf = ({ id, declaration, namespaces, path, line }: LedgerRule | DeclaredFileRule) =>
    JSON.stringify([id, declaration, namespaces, path, line])
  return before.length === after.length && before.every((one, index) => textOf(one) === textOf(after[index]!))
}

/** The entries that record a set of rule files, at least one. */
function loadedDrafts(revision: string, rules: readonly DeclaredFileRule[]): ChangeDraft[] {
  const declarations = rules.map(({ id, declaration, namespaces }) => ({
    ...sealedRule({ ...declaration, id }),
    ...(namespaces !== null && { namespaces: [...namespaces] }),
  }))
  const parts = sealedParts(declarations)
  return parts.map((part, index) => ({
    ...({ type: 'rules_loaded', revision, rules: rules.length, actor: GATEWAY_ACTOR } as const),
    ...{ part: index + 1, parts: parts.length, declarations: part },
  }))
}

/** Keeps the times of rules that are the same. */
async function writeFiles(
  queries: Queries,
  rules: readonly DeclaredFileRule[],
  now: string,
  rev: number,
): Promise<void> {
  const rows = rules.map(({ declaration, ...rule }, position) => ({
    ...rule,
    position,
    declaration: JSON.stringify(declaration),
    name_key: nameKey(declaration.name),
  }))
  await queries.rows(`delete from rule where source = 'file' and not (id = any($1))`, [
    rows.map(({ id }) => id),
  ])
  await queries.rows(
    `insert into rule (id, source, name_key, position, declaration, namespaces, path, line, created_at,
       updated_at, rev)
     select id, 'file', name_key, position, declaration::json, namespaces, path, line, $2, $2, $3
     from jsonb_to_recordset($1::jsonb) as r(id text, name_key text, position integer, declaration text,
       namespaces text[], path text, line integer)
     on conflict (id) do update set position = excluded.position, path = excluded.path, line = excluded.line,
       name_key = excluded.name_key, declaration = excluded.declaration, namespaces = excluded.namespaces,
       rev = excluded.rev,
       updated_at = case when rule.declaration::text = excluded.declaration::text
         and rule.namespaces is not distinct from excluded.namespaces
         then rule.updated_at else excluded.updated_at end`,
    [JSON.stringify(rows), now, rev],
  )
}

const writerOf =
  ({ revision, prices, unknown_price }: FleetPrices) =>
  (queries: Queries, rev: number): Promise<unknown> =>
    queries.rows(
      `insert into price_book (revision, prices, unknown_price, rev) values ($1, $2, $3, $4)
       on conflict (single) do update set revision = excluded.revision, prices = excluded.prices,
         unknown_price = excluded.unknown_price, rev = excluded.rev`,
      [revision, prices, unknown_price, rev],
    )

function apiRuleChange(
  { id, namespaces: globs, createdAtMs, updatedAtMs, ...declaration }: ApiRule,
  key: string,
): FeedChange {
  const namespaces = globs === undefined ? null : [...globs]
  const times = { created_at: isoTime(createdAtMs), updated_at: isoTime(updatedAtMs) }
  return {
    kind: 'rule',
    id,
    op: 'put',
    body: { declaration: declaration as unknown as JsonObject, namespaces, ...times },
    write: (queries, rev) =>
      queries.rows(
        `insert into rule (id, source, name_key, position, declaration, namespaces, created_at, updated_at,
           rev)
         values ($1, 'api', $2, 0, $3::json, $4, $5, $6, $7)
         on conflict (id) do update set name_key = excluded.name_key, declaration = excluded.declaration,
           namespaces = excluded.namespaces, updated_at = excluded.updated_at, rev = excluded.rev`,
        [id, key, JSON.stringify(declaration), namespaces, times.created_at, times.updated_at, rev],
      ),
  }
}

function overrideChange(override: RuleOverride): FeedChange {
  const { ruleId, ruleName, enabled, reason, expiresAtMs, declaredHash, createdAtMs } = override
  const expires = isoTimeOrNull(expiresAtMs)
  return {
    kind: 'override',
    id: ruleId,
    op: 'put',
    body: { enabled, reason, expires_at: expires },
    write: (queries, rev) =>
      queries.rows(
        `insert into override (rule_id, rule_name, enabled, reason, expires_at, declared_hash, created_at, rev)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (rule_id) do update set rule_name = excluded.rule_name, enabled = excluded.enabled,
           reason = excluded.reason, expires_at = excluded.expires_at, declared_hash = excluded.declared_hash,
           created_at = excluded.created_at, rev = excluded.rev`,
        [ruleId, ruleName, enabled, reason, expires, declaredHash, isoTime(createdAtMs), rev],
      ),
  }
}
