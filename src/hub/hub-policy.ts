// The rules, overrides and prices that a hub has for its sidecars: follows its files, changes rules
// through the API, and keeps what the database has in memory.

import type { Clock } from '../core/clock.ts'
import { GatewayError } from '../core/errors.ts'
import type { HubConfig } from '../core/hub-config.ts'
import type { JsonObject } from '../core/json.ts'
import type { Problem } from '../core/problem.ts'
import type { Timers } from '../core/timers.ts'
import type { GatewayLogger } from '../gateway/logger.ts'
import type { LedgerPolicy, LedgerRule, PolicyLedger } from '../ledger/policy-ledger.ts'
import type { SidecarLedger } from '../ledger/sidecar-ledger.ts'
import type { HubMetrics } from '../metrics/hub-metrics.ts'
import { compileLimits, compileRules, type RuleSet } from '../policy/compile.ts'
import { MAXIMUM_FLEET_PRICE_CHARACTERS, NO_FLEET_PRICES } from '../policy/fleet-policy.ts'
import { KeywordUsage } from '../policy/keyword-limits.ts'
import type { ParsedRule } from '../policy/parse-rule.ts'
import type { RuleDeclaration } from '../policy/rule.ts'
import { featuresOf } from '../policy/rule-features.ts'
import { NO_PRICES } from '../prices/price-book.ts'
import { openPrices, type PriceSnapshot, parsePrices } from '../prices/price-file.ts'
import { printRules, revisionOf } from '../rules/declaration.ts'
import { DeclaredRules } from '../rules/declared-rules.ts'
import { RuleEditor } from '../rules/editor.ts'
import { type EffectiveRule, EffectiveRules } from '../rules/effective.ts'
import { openHubRules, type RuleSnapshot } from '../rules/load.ts'
import { draftOf, type RuleChange, type RuleStorage } from '../rules/ports.ts'
import type { FileRule } from '../rules/snapshot.ts'
import type { PricesView } from '../server/routes/prices.ts'
import type { RulesView } from '../server/routes/rules.ts'
import { MADE } from './confirmation.ts'
import { whyNotEnforceable } from './enforceable.ts'
import { fleetRuleOf } from './group-policy.ts'
import { isForNamespace } from './namespaces.ts'
import {
  apiRuleOf,
  declaredOf,
  isOfFile,
  pricesVersion,
  sentOf,
  versionOf,
  whyTooLarge,
} from './policy-rules.ts'
import { filesHealth, SharedFiles } from './shared-files.ts'

/** Most names of rules in an answer. */
const MAXIMUM_NAMES = 20

export interface HubPolicyParts {
  readonly config: Pick<HubConfig, 'rules' | 'prices'>
  readonly ledger: PolicyLedger
  readonly sidecars: Pick<SidecarLedger, 'list'>
  /** Resolves once `take` has had everything that was in the database at the time of the call. */
  readonly catchUp: () => Promise<void>
  /** The time by which overrides end: that of the database. */
  readonly clock: Clock
  readonly timers: Timers
  /** Returns a new UUIDv7. */
  readonly newId: () => string
  readonly logger: GatewayLogger
  readonly metrics: Pick<HubMetrics, 'ruleReloads' | 'priceReloads'>
}

export class HubPolicy {
  readonly #parts: HubPolicyParts
  readonly #ruleFiles: SharedFiles<RuleSnapshot> | null
  readonly #priceFile: SharedFiles<PriceSnapshot> | null
  readonly #declared = new DeclaredRules()
  /** As the database has it. */
  #policy: LedgerPolicy = { rules: [], overrides: [], prices: NO_FLEET_PRICES }
  #filesVersion = versionOf([])
  /** Rules of another release that this one cannot read. */
  #unread: readonly Problem[] = []
  #book = NO_PRICES
  readonly effective: EffectiveRules
  readonly editor: RuleEditor

  constructor(parts: HubPolicyParts) {
    this.#parts = parts
    const { config, clock, timers, newId, logger, metrics } = parts
    const storage = this.#storage()
    const apiWrites = 'overlay'
    const onChange = (change: RuleChange) => this.#changed(change)
    // No call is judged here.
    const compile = (_: unknown, revision: string) => compileRules([], revision)
    this.effective = new EffectiveRules({ storage, clock, timers, apiWrites, onChange, compile })
    this.editor = new RuleEditor({ rules: this.effective, storage, clock, apiWrites, hub: null, newId })
    this.#ruleFiles =
      config.rules &&
      new SharedFiles({
        ...{ path: config.rules.path, what: 'rule files', open: openHubRules, logger, timers },
        write: (snapshot) => this.#writeRules(snapshot),
        version: () => this.#filesVersion,
        versionOf: ({ rules }) => versionOf(rules.map(({ rule }) => declaredOf(rule))),
        onLoad: (result) => metrics.ruleReloads.inc({ result }),
      })
    this.#priceFile =
      config.prices &&
      new SharedFiles({
        ...{ path: config.prices.path, what: 'price file', open: openPrices, logger, timers },
        write: (snapshot) => this.#writePrices(snapshot),
        version: () => pricesVersion(this.#policy.prices),
        versionOf: ({ contentHash }) =>
          pricesVersion({ revision: contentHash, unknown_price: config.prices?.unknownPrice ?? 'block' }),
        onLoad: (result) => metrics.priceReloads.inc({ result }),
      })
  }

  /** The rules of all hubs, with the errors of this one. */
  get rules(): RulesView {
    const { effective } = this
    return {
      list: () => effective.list(),
      drift: () => effective.drift(),
      hidden: [],
      get revision() {
        return effective.revision
      },
      get declaredRevision() {
        return effective.declaredRevision
      },
      errors: () => this.#errors(),
      toYaml: () => printByNamespaces(effective.list()),
    }
  }

  /** The limits of the rules in force. */
  get limits(): Pick<RuleSet, 'limits'> {
    return compileLimits(this.effective.parsed)
  }

  /** The prices of all hubs, with the errors of this one. */
  readonly prices: PricesView = {
    current: () => this.#book,
    problems: () => this.#priceFile?.problems ?? [],
  }

  #errors(): readonly Problem[] {
    return [...(this.#ruleFiles?.problems ?? []), ...this.#unread, ...this.effective.errors()]
  }

  get areRuleFilesInForce(): boolean {
    return this.#ruleFiles?.isInForce !== false
  }

  get isPriceFileInForce(): boolean {
    return this.#priceFile?.isInForce !== false
  }

  /** What /readyz shows. */
  health(): JsonObject {
    return { ...filesHealth('rules', this.#ruleFiles), ...filesHealth('prices', this.#priceFile) }
  }

  /** Puts the files in force, as far as they can be, and follows them. */
  async start(): Promise<void> {
    await Promise.all([this.#ruleFiles?.start(), this.#priceFile?.start()])
  }

  async reload(): Promise<void> {
    await Promise.all([this.#ruleFiles?.reload(), this.#priceFile?.reload()])
  }

  async close(): Promise<void> {
    this.effective.close()
    await Promise.all([this.#ruleFiles?.close(), this.#priceFile?.close()])
  }

  /** Takes what the database has. */
  take(policy: LedgerPolicy): void {
    const { revision, prices } = policy.prices
    if (this.#book.revision !== (revision ?? '')) this.#book = parsePrices(prices, PRICE_FILE).book
    this.#policy = policy
    this.#filesVersion = versionOf(policy.rules.filter(isOfFile))
    const { parsed, unread } = this.#parse(policy.rules)
    this.#unread = unread
    // Without all rules, overrides would end.
    if (unread.length > 0) return
    this.effective.replaceFiles({ rules: parsed, problems: [], contentHash: this.#filesVersion })
  }

  /** To be called when the database can be written again. */
  available(): void {
    this.effective.storeAvailable()
  }

  /** The needs of a declared or changed rule, for older sidecars. */
  needsOf(
    id: string,
  ): { readonly declaration: RuleDeclaration; readonly namespaces: readonly string[] | null } | null {
    return this.#policy.rules.find((rule) => rule.id === id) ?? null
  }

  /** Names of rules that sidecars of a namespace do not get, because they do not know them. */
  unsentTo(namespace: string, features: readonly string[]): string[] {
    return this.#policy.rules
      .filter(({ namespaces }) => isForNamespace(namespaces, namespace))
      .filter(({ declaration }) => featuresOf(declaration).some((name) => !features.includes(name)))
      .map(({ declaration }) => declaration.name)
      .slice(0, MAXIMUM_NAMES)
  }

  #parse(rules: readonly LedgerRule[]): { parsed: ParsedRule<FileRule>[]; unread: Problem[] } {
    const reading = this.#declared.read({ revision: '', rules: rules.map(fleetRuleOf) })
    if ('refusal' in reading) {
      const { rule, path, message } = reading.refusal
      const at = [rule, path].filter((part) => part !== null && part !== '').join('.')
      return { parsed: [], unread: [{ file: STORED, line: 0, column: 0, path: at, message }] }
    }
    const namespaces = new Map(rules.filter(isOfFile).map((rule) => [rule.id, rule.namespaces]))
    const ofFiles = reading.rules.filter(({ rule }) => namespaces.has(rule.id))
    const parsed = ofFiles.map(({ rule, pattern }) => {
      const { path, line, createdAtMs: _created, updatedAtMs: _updated, ...declared } = rule
      const globs = namespaces.get(rule.id) ?? null
      const scope = globs === null ? {} : { namespaces: globs }
      return { rule: { ...declared, path: path ?? '', line: line ?? 0, ...scope }, pattern }
    })
    return { parsed, unread: [] }
  }

  async #writeRules(snapshot: RuleSnapshot): Promise<readonly Problem[]> {
    const { ledger, sidecars, catchUp } = this.#parts
    const rules = snapshot.rules.map(({ rule }) => declaredOf(rule))
    const file = snapshot.rules[0]?.rule.path ?? ''
    const refuse = (message: string): Problem[] => [{ file, line: 0, column: 0, path: '', message }]
    const api = this.#policy.rules.filter((rule) => !isOfFile(rule))
    const tooLarge = whyTooLarge([...rules, ...api].map(sentOf))
    if (tooLarge !== null) return refuse(tooLarge)
    const exceeded = new KeywordUsage().add(snapshot.rules).add(this.#apiParsed()).exceeded()
    if (exceeded !== null) return refuse(exceeded)
    const needs = rules.map(({ declaration, namespaces }) => ({
      features: featuresOf(declaration),
      namespaces,
    }))
    const refused = whyNotEnforceable(await sidecars.list(), needs)
    if (refused !== null) {
      const { path, line, name } = snapshot.rules[refused.place]!.rule
      const message = `${refused.message}. Upgrade them; the files are tried again`
      return [{ file: path, line, column: 1, path: `rules.${name}`, message }]
    }
    await ledger.replaceFiles(revisionOf(snapshot.rules.map(({ rule }) => rule)), rules)
    await catchUp()
    return []
  }

  async #writePrices({ book, text, contentHash }: PriceSnapshot): Promise<readonly Problem[]> {
    const { config, ledger, catchUp } = this.#parts
    if (text.length > MAXIMUM_FLEET_PRICE_CHARACTERS)
      throw new Error('a price file is longer than sidecars take; price-file bounds it')
    const unknown_price = config.prices?.unknownPrice ?? 'block'
    await ledger.replacePrices({ revision: contentHash, prices: text, unknown_price }, book.lines.length)
    await catchUp()
    return []
  }

  #apiParsed(): readonly ParsedRule<RuleDeclaration>[] {
    return this.effective.parsed.filter(({ rule }) => rule.source.kind === 'api')
  }

  /** The database, as the effective rules read and write it. */
  #storage(): RuleStorage {
    const { ledger } = this.#parts
    return {
      apiRules: () => this.#policy.rules.filter((rule) => !isOfFile(rule)).map(apiRuleOf),
      overrides: () => (this.#unread.length > 0 ? [] : this.#policy.overrides),
      putRule: async (rule, sealed) => {
        const { id: _, namespaces: _scope, createdAtMs, updatedAtMs, ...declaration } = rule
        const others = this.#policy.rules.filter(({ id }) => id !== rule.id).map(sentOf)
        const added = sentOf({ id: rule.id, declaration, createdAtMs, updatedAtMs })
        const tooLarge = whyTooLarge([...others, added])
        if (tooLarge !== null) throw new GatewayError('invalid_body', `${tooLarge}.`, { param: 'pattern' })
        await this.#written(ledger.putRule(rule, sealed))
      },
      deleteRule: (id, sealed) => this.#written(ledger.deleteRule(id, sealed)),
      putOverride: (override, sealed) => this.#written(ledger.putOverride(override, sealed)),
      deleteOverride: (override, sealed) => this.#written(ledger.deleteOverride(override, sealed)),
    }
  }

  /** Waits for a write, and until this hub has it in memory. */
  async #written(writing: Promise<void>): Promise<void> {
    await writing
    try {
      await this.#parts.catchUp()
    } catch (error) {
      throw new GatewayError('fleet_unavailable', MADE, { cause: error })
    }
  }

  #changed(change: RuleChange): void {
    const { logger } = this.#parts
    if (change.type === 'state_write_failed')
      logger.error(
        { err: change.error },
        'an ended override or a replaced rule could not be deleted; it is retried',
      )
    else logger.info(draftOf(change), 'rules changed')
  }
}

/** The `file` of problems of prices in the database. */
const PRICE_FILE = '/api/v1/prices'
/** The `file` of problems of rules in the database. */
const STORED = '/api/v1/rules'

/** Prints rules as files, one document for each list of namespaces. */
function printByNamespaces(rules: readonly EffectiveRule[]): string {
  const files = new Map<string, EffectiveRule[]>()
  for (const rule of rules) {
    const key = JSON.stringify(rule.namespaces ?? null)
    files.set(key, [...(files.get(key) ?? []), rule])
  }
  if (files.size === 0) return printRules([])
  return [...files.values()].map((some) => printRules(some, some[0]?.namespaces)).join('---\n')
}
