// Reads the queries of the dashboard and of the alerts as Grafana and Prometheus send them.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { CHARTS } from './helm.ts'

export const ALERTS_FILE = join(CHARTS, 'sidegate/files/alerts.yaml')
const DASHBOARD_FILE = join(CHARTS, 'sidegate/files/dashboard.json')

export interface AlertingRule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export interface RuleGroup {
  readonly name: string
  readonly rules: readonly AlertingRule[]
}

export const readAlertGroups = (): RuleGroup[] => parse(readFileSync(ALERTS_FILE, 'utf8')).groups

export interface Panel {
  readonly id: number
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly title: string
  readonly type: string
  readonly description?: string
  readonly targets?: readonly { readonly expr: string; readonly refId: string }[]
}

export const readPanels = (): Panel[] => JSON.parse(readFileSync(DASHBOARD_FILE, 'utf8')).panels

/** The panel's queries with every variable set to All and this rate interval. */
export const panelQueries = ({ targets = [] }: Panel, range: string): string[] =>
  targets.map(({ expr }) =>
    expr.replaceAll('$namespace', '.*').replaceAll('$pod', '.*').replaceAll('$__rate_interval', range),
  )

/** The selectors of sidegate and process series in a query. */
export const selectors = (query: string): string[] => [
  ...new Set(query.replaceAll(/#.*/g, '').match(/\b(?:sidegate|process)[_:]\w[\w:]*(?:\{[^}]*\})?/g) ?? []),
]
