// Compares two configuration files by their settings, and says which settings a running program
// takes from a changed file. Every other one needs a restart.

import { isDeepStrictEqual } from 'node:util'
import type { Config } from './config.ts'
import type { Path } from './document.ts'
import type { HubConfig } from './hub-config.ts'
import { isObject, type JsonObject, type JsonValue } from './json.ts'

/** A setting that takes effect without a restart, with everything in it. */
export interface ReloadableSetting<Section extends string> {
  /** Its keys in the file. */
  readonly path: readonly string[]
  /** Where the checked configuration has it. */
  readonly section: Section
}

/** The settings that a gateway takes from a changed file. */
export const RELOADABLE = [
  { path: ['upstream'], section: 'upstreams' },
  { path: ['upstreams'], section: 'upstreams' },
  // Names upstreams.
  { path: ['passThrough'], section: 'passThrough' },
  { path: ['keys'], section: 'keys' },
  { path: ['tools', 'servers'], section: 'tools' },
  { path: ['policy', 'refusalStatus'], section: 'policy' },
  { path: ['admin'], section: 'admin' },
  { path: ['log', 'level'], section: 'log' },
] as const satisfies readonly ReloadableSetting<keyof Config>[]

/** What a reload of a gateway replaces. */
export type ReloadableConfig = Pick<Config, (typeof RELOADABLE)[number]['section']>

/** The settings that a hub takes from a changed file. */
export const HUB_RELOADABLE = [
  { path: ['admin'], section: 'admin' },
  { path: ['log', 'level'], section: 'log' },
] as const satisfies readonly ReloadableSetting<keyof HubConfig>[]

/** What a reload of a hub replaces. */
export type ReloadableHubConfig = Pick<HubConfig, (typeof HUB_RELOADABLE)[number]['section']>

/** Returns the settings that differ. A list is one setting. */
export function changedSettings(before: JsonObject, after: JsonObject): readonly Path[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap((name) => {
    const [one, other] = [before[name], after[name]]
    if (isDeepStrictEqual(one, other)) return []
    if (one === undefined || other === undefined || !isObject(one) || !isObject(other)) return [[name]]
    return changedSettings(one, other).map((path) => [name, ...path])
  })
}

/** Reports whether a setting is one of these, or in one. */
export const isReloadable = (rows: readonly ReloadableSetting<string>[], path: Path): boolean =>
  rows.some((row) => row.path.every((name, index) => path[index] === name))

/** Returns the value at a path; undefined for none. */
export const settingAt = (settings: JsonObject, path: Path): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>(
    (value, part) => (value === null ? undefined : (value as JsonObject | undefined)?.[part]),
    settings,
  )

/** Returns what is in force of a file after its reloadable settings are. */
export function settingsAfter(
  before: JsonObject,
  after: JsonObject,
  rows: readonly ReloadableSetting<string>[],
): JsonObject {
  const settings = structuredClone(before)
  for (const { path } of rows) {
    const last = path.at(-1)!
    const value = settingAt(after, path)
    // A section is there in every file, with its defaults.
    const around = settingAt(settings, path.slice(0, -1)) as JsonObject
    if (value === undefined) delete around[last]
    else around[last] = value
  }
  return settings
}
