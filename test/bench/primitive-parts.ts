// The bare durable log and telemetry of primitives.ts, made directly with the libraries.

import { hash } from 'node:crypto'
import { open } from 'lmdb'
import { pino } from 'pino'
import { Counter, Histogram, Registry } from 'prom-client'

const DAY_TOKENS = 330
const PHASES = ['key', 'inspect', 'policy', 'response', 'seal']

export interface Waiting {
  readonly entry: { id: string; seq: number; prev: string }
  readonly salted: Buffer
  finish(receipt: string): void
}

/** Opens a log with group commits, in which each entry is chained to the one before. */
export function openLog(folder: string) {
  const binary = { encoding: 'binary', keyEncoding: 'binary' } as const
  const root = open<Buffer, Buffer>(folder, { ...binary, noSubdir: false, overlappingSync: false })
  const table = (name: string) => root.openDB<Buffer, Buffer>(name, binary)
  const [keys, entries, content] = [table('keys'), table('entries'), table('content')]
  const [ids, requests, meta] = [table('ids'), table('requests'), table('meta')]
  let waiting: Waiting[] = []
  let busy = false
  let head = { seq: 0, hash: hash('sha256', 'genesis'), tokens: 0 }

  function write({ entry, salted }: Waiting): string {
    entry.seq = head.seq + 1
    entry.prev = head.hash
    const text = JSON.stringify(entry)
    const sealed = hash('sha256', text)
    // A leaf of the Merkle tree and a node: on average an entry completes one.
    hash('sha256', `\0${sealed}`)
    hash('sha256', `\u0001${sealed}${head.hash}`)
    const place = Buffer.alloc(8)
    place.writeUInt32BE(entry.seq, 4)
    void entries.put(place, Buffer.from(sealed + text))
    void content.put(place, salted)
    void ids.put(Buffer.from(entry.id), place)
    void requests.put(place, Buffer.from(text.slice(0, 80)))
    head = { seq: entry.seq, hash: sealed, tokens: head.tokens + DAY_TOKENS }
    return sealed
  }

  async function commit(): Promise<void> {
    busy = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      const receipts = await root.childTransaction(() => {
        const sealed = batch.map(write)
        void meta.put(Buffer.from('log'), Buffer.from(JSON.stringify(head)))
        return sealed
      })
      for (const [index, { finish }] of batch.entries()) finish(receipts[index]!)
    }
    busy = false
  }

  return {
    keys,
    /** Reads the newest state, because other processes may revoke keys. */
    isKnown(key: string): boolean {
      root.resetReadTxn()
      return keys.get(Buffer.from(hash('sha256', key), 'hex')) !== undefined
    },
    append(one: Waiting): void {
      waiting.push(one)
      if (!busy) void commit()
    },
  }
}

/** Returns a function that updates the metrics of one call and writes its log line. */
export function openTelemetry(): () => void {
  const registers = [new Registry()]
  const names = { help: '-', registers }
  const calls = new Counter({ ...names, name: 'calls', labelNames: ['outcome', 'stream'] })
  const tokens = new Counter({ ...names, name: 'tokens', labelNames: ['direction', 'model'] })
  const spent = new Histogram({ ...names, name: 'spent', labelNames: ['phase'] })
  let lines = ''
  const flush = () => {
    process.stdout.write(lines)
    lines = ''
  }
  const gather = {
    write(line: string) {
      if (lines === '') setImmediate(flush)
      lines += line
    },
  }
  const logger = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, gather)
  return () => {
    calls.inc({ outcome: 'ok', stream: 'false' })
    for (const direction of ['prompt', 'completion']) tokens.inc({ direction, model: 'bench/model' }, 100)
    // Nine observations, as in the gateway: total, upstream, commit, score and each phase.
    for (const phase of [...PHASES, 'whole', 'upstream', 'commit', 'score']) spent.observe({ phase }, 0.0005)
    logger.info({ id: '-', seq: 1, outcome: 'ok', status: 200, key: 'bench', tokens: 330, pii: [] }, 'sealed')
  }
}
