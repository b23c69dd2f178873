// `sidegate keys`: API keys from the shell, beside a running gateway or a stopped one.

import { parseArgs } from 'node:util'
import { systemClock } from '../core/clock.ts'
import { readConfig } from '../core/config.ts'
import { GatewayError } from '../core/errors.ts'
import { isoTime, isoTimeOrNull } from '../core/time.ts'
import type { KeyRecord } from '../store/api-keys.ts'
import { StoreOpenError } from '../store/lmdb.ts'
import type { Store } from '../store/store.ts'
import { requireLog, SourceError } from '../store/verification/log-source.ts'
import { type Command, DEFAULT_CONFIG, type ExitCode, printProblems, UsageError } from './command.ts'
import { openBeside } from './open-store.ts'

const HELP = `Usage: sidegate keys create --name NAME [--config FILE]
       sidegate keys list [--config FILE]
       sidegate keys revoke ID [--config FILE]

API keys in the data directory of a running or stopped gateway on this machine.
create prints the key, once, on standard output. A revoked key stops working at
once, in a running gateway too, and also where the configuration declares it.
In a pipe the output is JSON.

  --config FILE   configuration (default ${DEFAULT_CONFIG})
  --help          this text

Exit: 0 done, 1 refused, 2 could not run.
`

export const keys: Command = {
  name: 'keys',
  summary: 'create, list and revoke API keys',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { config: { type: 'string', default: DEFAULT_CONFIG }, name: { type: 'string' } },
    })
    const work = chooseWork(positionals, values.name)
    // Secrets of the gateway are not needed here, so that they are missing does not matter.
    const { config, problems } = readConfig(values.config, process.env, systemClock)
    if (config === null) {
      printProblems(problems, 'the data directory is not known')
      return 2
    }
    let store: Store
    try {
      // Only a first key is a reason to make a data directory.
      if (positionals[0] !== 'create') requireLog(config.data.path)
      store = openBeside(config)
    } catch (error) {
      if (!(error instanceof StoreOpenError || error instanceof SourceError)) throw error
      console.error(`sidegate keys: ${error.message}`)
      return 2
    }
    try {
      await work(store)
      return 0
    } finally {
      await store.close()
    }
  },
}

type Work = (store: Store) => Promise<void>

function chooseWork([action, id, ...rest]: readonly string[], name: string | undefined): Work {
  if (rest.length > 0) throw new UsageError(`unexpected argument ${rest[0]}`)
  if (action !== 'create' && name !== undefined) throw new UsageError('--name goes with create')
  if (action === 'create' && id === undefined) {
    if (name === undefined) throw new UsageError('create needs --name NAME')
    return async (store) => create(store, name)
  }
  if (action === 'list' && id === undefined) return async (store) => list(store.keys.list())
  if (action === 'revoke' && id !== undefined) {
    return async (store) => {
      const record = await store.keys.revoke(id)
      report(describe(record), `revoked ${record.id} (${record.name})`)
    }
  }
  throw new UsageError('say create, list, or revoke ID')
}

/** A name that is none is a mistake in what was typed. */
function refuse(error: unknown): never {
  const isMistake = error instanceof GatewayError && error.code === 'invalid_parameter'
  throw isMistake ? new UsageError(`--${error.message}`) : error
}

async function create(store: Store, wanted: string): Promise<void> {
  const { record, key } = await store.keys.create(wanted).catch(refuse)
  const { id, name } = record
  const told = process.stdout.isTTY
    ? `${key}\n\nKey ${id} (${name}). It is shown this once; keep it where your app reads its secrets.\n`
    : `${JSON.stringify({ id, key, name, created_at: isoTime(record.createdAtMs) })}\n`
  const fault = await new Promise((resolve) => process.stdout.write(told, resolve))
  if (fault === null || fault === undefined) return
  // Nobody knows it, and nobody would miss it.
  await store.keys.revoke(id)
  throw new Error(`the key could not be shown, and was revoked (${id})`)
}

function list(records: readonly KeyRecord[]): void {
  if (!process.stdout.isTTY) {
    for (const record of records) console.log(JSON.stringify(describe(record)))
    return
  }
  if (records.length === 0) console.log('No keys yet: sidegate keys create --name NAME')
  for (const record of records) {
    const { id, name, prefix } = record
    const state = record.revokedAtMs === null ? 'active' : 'revoked'
    console.log(`${id}  ${state.padEnd(7)}  ${(prefix ?? 'by hash').padEnd(24)}  ${name}`)
  }
}

const describe = (record: KeyRecord) => ({
  id: record.id,
  name: record.name,
  prefix: record.prefix,
  created_at: isoTimeOrNull(record.createdAtMs),
  last_used_at: isoTimeOrNull(record.lastUsedAtMs),
  revoked_at: isoTimeOrNull(record.revokedAtMs),
  state: record.revokedAtMs === null ? 'active' : 'revoked',
  source: record.source,
})

function report(value: object, text: string): void {
  console.log(process.stdout.isTTY ? text : JSON.stringify(value))
}
