// Reads the rules that a gateway with this configuration has in force: its files, and from its data
// directory those of its hub and what the API has added or switched.

import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { Problem } from '../core/problem.ts'
import type { FleetRules } from '../policy/fleet-policy.ts'
import type { ParsedRule } from '../policy/parse-rule.ts'
import type { ApiRule, RuleOverride } from '../policy/rule.ts'
import { readSources } from '../rulecheck/rule-sources.ts'
import { DeclaredRules, hubOverride } from '../rules/declared-rules.ts'
import {
  dateFileRules,
  type EffectiveRule,
  type HubPart,
  mergeRules,
  sortStoredRules,
} from '../rules/merge.ts'
import { snapshotOf } from '../rules/snapshot.ts'
import type { Store } from '../store/store.ts'
import { requireLog, SourceError } from '../store/verification/log-source.ts'
import { openConfiguredStore } from './open-store.ts'

interface RulesInForce {
  /** In the order in which the API lists them. */
  readonly rules: readonly ParsedRule<EffectiveRule>[]
  /** Errors in files or stored rules; with one in a file, a gateway keeps its last good rules. */
  readonly problems: readonly Problem[]
}

/** @throws StoreOpenError for a data directory that cannot be read */
export async function rulesInForce(config: Config): Promise<RulesInForce> {
  const sources = await readSources([config.rules.path])
  const { rules: files, problems } = snapshotOf(sources.files, sources.problems)
  const stored = await readStored(config)
  const nowMs = systemClock.now()
  const { valid, errors } = sortStoredRules(
    files.map(({ rule }) => rule),
    stored.rules,
  )
  const { rules } = mergeRules(dateFileRules(files, [], nowMs), valid, stored.overrides, nowMs, stored.hub)
  return { rules, problems: [...problems, ...errors] }
}

interface StoredChanges {
  readonly rules: readonly ApiRule[]
  readonly overrides: readonly RuleOverride[]
  /** What the hub has sent; absent without a hub. */
  readonly hub?: HubPart
}

const NOTHING: StoredChanges = { rules: [], overrides: [] }

async function readStored(config: Config): Promise<StoredChanges> {
  try {
    requireLog(config.data.path)
  } catch (error) {
    // No gateway has run here.
    if (error instanceof SourceError) return NOTHING
    throw error
  }
  const store = openConfiguredStore(config)
  try {
    const own =
      config.rules.apiWrites === 'readonly'
        ? NOTHING
        : { rules: store.rules.apiRules(), overrides: store.rules.overrides() }
    return config.fleet === null ? own : { ...own, hub: hubPart(store) }
  } finally {
    await store.close()
  }
}

/** The newest rules of the hub that can be in force here, as a gateway keeps them. */
function hubPart({ fleet }: Pick<Store, 'fleet'>): HubPart {
  const { policy, state } = fleet.read()
  const declared = new DeclaredRules()
  const parse = (sent: FleetRules | null | undefined) => {
    const reading = declared.read(sent ?? { revision: '', rules: [] })
    return 'rules' in reading ? reading.rules : []
  }
  return {
    rules: parse(policy.goodRules ?? policy.rules),
    overrides: (policy.overrides ?? []).map(hubOverride),
    nowMs: systemClock.now() + (state.hubAheadMs ?? 0),
  }
}
