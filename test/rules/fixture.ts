// Rule files on disk and as values, storage in memory with failures, and a clock and timers that
// the test advances.

import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../src/core/clock.ts'
import type { Timers } from '../../src/core/timers.ts'
import type { ApiRule, RuleOverride } from '../../src/policy/rule.ts'
import { RuleEditor } from '../../src/rules/editor.ts'
import { EffectiveRules } from '../../src/rules/effective.ts'
import type { RuleChange, RuleStorage } from '../../src/rules/ports.ts'
import { type RuleSnapshot, snapshotOf } from '../../src/rules/snapshot.ts'

/** A file of keyword rules with these names, each with its name as the pattern. */
export const rulesText = (...names: string[]): string =>
  `rules:\n${names.map((name) => `  - {name: ${name}, type: keyword_block, pattern: ${name}, action: block}\n`).join('')}`

/** A snapshot of one file. */
export const snapshot = (text: string): RuleSnapshot => snapshotOf([{ name: 'rules/a.yaml', text }])

/** An empty folder, removed after the test. */
export function temporaryFolder(t: { teardown(remove: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'sidegate-rules-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/**
 * Publishes files the way kubelet does (atomic_writer.go): a new folder, then one rename of a link.
 */
export function publish(folder: string, moment: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(join(folder, `..${moment}`), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `..${moment}`, name), text)
  symlinkSync(`..${moment}`, join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  for (const name of Object.keys(files)) {
    try {
      symlinkSync(join('..data', name), join(folder, name))
    } catch {
      // The link exists since an earlier moment.
    }
  }
}

interface Waiting {
  readonly callback: () => void
  readonly dueMs: number
}

/** Timers that run when the test advances them. */
export class ManualTimers implements Timers {
  #nowMs = 0
  readonly #timers = new Set<Waiting>()

  set(callback: () => void, delayMs: number): unknown {
    const timer = { callback, dueMs: this.#nowMs + delayMs }
    this.#timers.add(timer)
    return timer
  }

  clear(timer: unknown): void {
    this.#timers.delete(timer as Waiting)
  }

  get waiting(): number {
    return this.#timers.size
  }

  /** Runs the timers that fall due, in order, including those set meanwhile. */
  advance(spanMs: number): void {
    const untilMs = this.#nowMs + spanMs
    for (;;) {
      const next = [...this.#timers].sort((a, b) => a.dueMs - b.dueMs)[0]
      if (next === undefined || next.dueMs > untilMs) break
      this.#nowMs = next.dueMs
      this.#timers.delete(next)
      next.callback()
    }
    this.#nowMs = untilMs
  }
}

/** Storage in memory. */
export class MemoryStorage implements RuleStorage {
  readonly rules = new Map<string, ApiRule>()
  readonly stored = new Map<string, RuleOverride>()
  /** The error of the next write. */
  failure: Error | null = null

  apiRules(): readonly ApiRule[] {
    return [...this.rules.values()]
  }

  overrides(): readonly RuleOverride[] {
    return [...this.stored.values()]
  }

  putRule(rule: ApiRule): Promise<void> {
    return this.#write(() => this.rules.set(rule.id, rule))
  }

  deleteRule(id: string): Promise<void> {
    return this.#write(() => this.rules.delete(id))
  }

  putOverride(override: RuleOverride): Promise<void> {
    return this.#write(() => this.stored.set(override.ruleId, override))
  }

  deleteOverride({ ruleId, createdAtMs }: Pick<RuleOverride, 'ruleId' | 'createdAtMs'>): Promise<void> {
    return this.#write(() => {
      if (this.stored.get(ruleId)?.createdAtMs === createdAtMs) this.stored.delete(ruleId)
    })
  }

  async #write(write: () => void): Promise<void> {
    await Promise.resolve()
    const { failure } = this
    this.failure = null
    if (failure !== null) throw failure
    write()
  }
}

class ManualClock implements Clock {
  nowMs = 1_000_000

  now(): number {
    return this.nowMs
  }

  monotonic(): number {
    return this.nowMs
  }
}

/** The clock of a hub, after that of a gateway. */
export const HUB_AHEAD_MS = 500_000

interface Setting {
  readonly rules: EffectiveRules
  readonly editor: RuleEditor
  readonly storage: MemoryStorage
  readonly clock: ManualClock
  readonly timers: ManualTimers
  /** The reported changes, as `type name cause`. */
  readonly changes: string[]
  /** Resolves when all background writes are done. */
  settled(): Promise<void>
}

export function setting(
  t: { teardown(close: () => void): void },
  options: { apiWrites?: 'overlay' | 'readonly'; storage?: MemoryStorage; hub?: string } = {},
): Setting {
  const storage = options.storage ?? new MemoryStorage()
  const clock = new ManualClock()
  const timers = new ManualTimers()
  const changes: string[] = []
  let ids = 0
  const parts = { storage, clock, apiWrites: options.apiWrites ?? 'overlay' }
  const rules = new EffectiveRules({
    ...parts,
    timers,
    hubNow: () => clock.nowMs + HUB_AHEAD_MS,
    onChange: (change) => {
      changes.push(describe(change))
    },
  })
  const editor = new RuleEditor({ ...parts, hub: options.hub ?? null, rules, newId: () => `api-${++ids}` })
  t.teardown(() => rules.close())
  const settled = async () => {
    // Writes run one after another, so this one comes after all of them.
    await rules.enqueue(async () => {})
  }
  return { rules, editor, storage, clock, timers, changes, settled }
}

function describe(change: RuleChange): string {
  if (change.type === 'state_write_failed') return `${change.type} ${(change.error as Error).message}`
  if (change.type === 'rule_override_ended') return `${change.type} ${change.ruleName} ${change.cause}`
  if (change.type === 'rule_override')
    return `${change.type} ${change.rule.name} ${change.rule.enabled} ${change.reason}`
  return `${change.type} ${change.rule.name} ${change.cause}`
}
