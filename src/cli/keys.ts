// `sidegate keys`: creates, lists and revokes API keys in the data directory of a running or
// stopped gateway.

import { parseArgs } from 'node:util'
import { systemClock } from '../core/clock.ts'
import { readConfig } from '../core/config.ts'
import { GatewayError } from '../core/errors.ts'
import { isoTime, isoTimeOrNull } from '../core/time.ts'
import type { KeyRecord } from '../store/api-keys.ts'
import { findUnfitKeyNames } from '../store/key-names.ts'
import { StoreOpenError } from '../store/lmdb.ts'
import type { Store } from '../store/store.ts'
import { requireLog, SourceError } from '../store/verification/log-source.ts'
import { type Command, DEFAULT_CONFIG, type ExitCode, printProblems, UsageError } from './command.ts'
import { openConfiguredStore } from './open-store.ts'

const HELP = `Usage: sidegate keys create --name NAME [--config FILE]
       sidegate keys list [--config FILE]
       sidegate keys revoke ID [--config FILE]

Manages the API keys in the data directory of a running or stopped gateway on this
machine. create prints the key on standard output; it is not shown again. A revoked key
is refused at once, also by a running gateway, and also if the configuration declares
it. In a pipe the output is JSON.

  --config FILE   configuration (default ${DEFAULT_CONFIG})
  --help          print this text

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
    const action = chooseAction(positionals, values.name)
    // The command does not need the gateway's secrets, so missing ones are ignored.
    const reading = readConfig(values.config, process.env, systemClock)
    const { config, problems } = reading
    if (config === null) {
      printProblems(problems, 'fix the configuration: it names the data directory')
      return 2
    }
    // A declared name is sealed when its key is revoked.
    const unfit = findUnfitKeyNames(reading, config)
    if (unfit.length > 0) {
      printProblems(unfit, 'fix the configuration: names of keys are sealed in the log')
      return 2
    }
    let store: Store
    try {
      // Only create may make a data directory, for the first key.
      if (positionals[0] !== 'create') requireLog(config.data.path)
      store = openConfiguredStore(config)
    } catch (error) {
      if (!(error instanceof StoreOpenError || error instanceof SourceError)) throw error
      console.error(`sidegate keys: ${error.message}`)
      return 2
    }
    try {
      await action(store)
      return 0
    } finally {
      await store.close()
    }
  },
}

type Action = (store: Store) => Promise<void>

function chooseAction([action, id, ...rest]: readonly string[], name: string | undefined): Action {
  if (rest.length > 0) throw new UsageError(`unexpected argument ${rest[0]}; give one action`)
  if (action !== 'create' && name !== undefined) throw new UsageError('only create takes --name')
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
  throw new UsageError('give an action: create, list, or revoke ID')
}

/** Turns an invalid name into a usage error. */
function rethrow(error: unknown): never {
  const isInvalidName = error instanceof GatewayError && error.code === 'invalid_parameter'
  throw isInvalidName ? new UsageError(`--${error.message}`) : error
}

async function create(store: Store, wanted: string): Promise<void> {
  const { record, key } = await store.keys.create(wanted).catch(rethrow)
  const { id, name } = record
  const output = process.stdout.isTTY
    ? `${key}\n\nKey ${id} (${name}). It is not shown again; store it where your app reads its secrets.\n`
    : `${JSON.stringify({ id, key, name, created_at: isoTime(record.createdAtMs) })}\n`
  const fault = await new Promise((resolve) => process.stdout.write(output, resolve))
  if (fault === null || fault === undefined) return
  // Nobody has seen the key, so nobody uses it.
  await store.keys.revoke(id)
  throw new Error(`the key could not be written to standard output and was revoked (${id}); create another`)
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
