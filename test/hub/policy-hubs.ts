// Hubs with rule files and a price file, and what tests ask them.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { TestDatabase } from '../ledger/postgres.ts'
import { fetchInTime } from '../process/until.ts'
import type { Api, TestHub } from './fixture.ts'
import { hubOn } from './pods.ts'

export const PRICES = 'prices: {"gpt-*": {input: 1, output: 2}}\n'
const FILES = { rules: { path: 'rules.yaml' }, prices: { path: 'prices.yaml', unknownPrice: 'ignore' } }

export const hubWith = (t: Test, database: TestDatabase, rules: string, prices = PRICES): Promise<TestHub> =>
  hubOn(t, database, FILES, { 'rules.yaml': rules, 'prices.yaml': prices })
export const write = (hub: TestHub, name: string, text: string): void =>
  writeFileSync(join(hub.folder, name), text)
export const ready = async (hub: TestHub): Promise<any> =>
  (await fetchInTime(`http://${hub.opsAddress}/readyz`)).json()
export const page = async (hub: TestHub): Promise<string> =>
  (await fetchInTime(`http://${hub.opsAddress}/metrics`)).text()
export const namesAt = async (api: Api): Promise<string[]> =>
  (await api('GET', '/rules')).body.rules.map(({ name }: { name: string }) => name)
