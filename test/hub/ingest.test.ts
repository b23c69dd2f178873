// How shipments are gathered into transactions.

import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { checkArrival } from '../../src/audit/arrival.ts'
import { atOnce } from '../../src/core/steps.ts'
import type { Timers } from '../../src/core/timers.ts'
import { Ingest } from '../../src/hub/ingest.ts'
import { COLUMN_READER } from '../../src/ledger/entry-columns.ts'
import type { Shipment, ShipmentResult } from '../../src/ledger/shipped-logs.ts'
import { SidecarLog } from '../audit/sidecar-log.ts'
import { id } from '../store/fixture.ts'

const timers: Timers = { set: (callback) => setImmediate(callback), clear: () => {} }

/** A shipment of a log, with as many entries as it is to have. */
function shipment(n: number, count = 1): Shipment {
  const log = new SidecarLog(id(n)).addMany(count - 1)
  const entries = atOnce(checkArrival(log.log, log.entries, COLUMN_READER))
  if ('reason' in entries) throw new Error(entries.reason)
  return { log: log.log, name: 'shop/web-1', sidecar: 'one', entries, beginning: null }
}

/** A store that answers when the test says so. */
function pendingStore() {
  const batches: { logs: string[]; answer: (error?: Error) => void }[] = []
  const store = (shipments: readonly Shipment[]) =>
    new Promise<readonly ShipmentResult[]>((resolve, reject) => {
      const answer = (error?: Error) =>
        error === undefined
          ? resolve(shipments.map(({ entries }) => ({ want: entries.length })))
          : reject(error)
      batches.push({ logs: shipments.map(({ log }) => log), answer })
    })
  return { batches, store }
}

const settle = async () => {
  for (let turn = 0; turn < 10; turn++) await nextTurn()
}

t.test('shipments of different logs share a transaction, and those of one log do not', async (t) => {
  const { batches, store } = pendingStore()
  const ingest = new Ingest({ store, timers })
  const submitted = [shipment(1), shipment(2), shipment(1, 2)].map(
    async (one) => (await ingest.submit(one)).result,
  )
  await settle()
  t.strictSame(
    batches.map(({ logs }) => logs),
    [[id(1), id(2)]],
  )
  batches[0]!.answer()
  await settle()
  t.strictSame(batches[1]?.logs, [id(1)])
  batches[1]!.answer()
  t.strictSame(await Promise.all(submitted), [{ want: 1 }, { want: 1 }, { want: 2 }])
})

t.test('two transactions run at a time, of at most 2,000 entries each', async (t) => {
  const { batches, store } = pendingStore()
  const ingest = new Ingest({ store, timers })
  for (let n = 0; n < 12; n++) void ingest.submit(shipment(n, 200))
  await settle()
  t.equal(batches[0]?.logs.length, 10)
  t.strictSame(
    batches.slice(1).map(({ logs }) => logs),
    [[id(10), id(11)]],
  )
  void ingest.submit(shipment(21))
  await settle()
  t.equal(batches.length, 2)
  batches[1]!.answer()
  await settle()
  t.strictSame(batches[2]?.logs, [id(21)])
})

t.test('a caller waits while 4,000 entries wait', async (t) => {
  const { batches, store } = pendingStore()
  const ingest = new Ingest({ store, timers })
  let taken = 0
  for (let n = 0; n < 25; n++) void ingest.submit(shipment(n, 200)).then(() => taken++)
  await settle()
  t.equal(taken, 20)
  batches[0]!.answer()
  await settle()
  t.equal(taken, 25)
})

t.test('a shipment that the database does not take fails alone', async (t) => {
  const refused = id(2)
  const calls: string[][] = []
  const store = async (shipments: readonly Shipment[]): Promise<readonly ShipmentResult[]> => {
    calls.push(shipments.map(({ log }) => log))
    if (shipments.some(({ log }) => log === refused)) throw new Error('a value is out of range')
    return shipments.map(() => ({ want: 0 }))
  }
  const ingest = new Ingest({ store, timers })
  const results = await Promise.allSettled(
    [1, 2, 3].map(async (n) => (await ingest.submit(shipment(n))).result),
  )
  t.strictSame(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.equal(calls.length, 4)
})
