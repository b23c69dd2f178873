// `sidegate keys`: creates, lists, rotates, revokes and hashes API keys. Works on the data
// directory of a running or stopped gateway.

import { hashApiKey, parseApiKey } from '../core/apikey.ts'
import { systemClock } from '../core/clock.ts'
import { readConfig } from '../core/config.ts'
import { GatewayError } from '../core/errors.ts'
import { visibleLine } from '../core/hidden-characters.ts'
import { isHubConfig } from '../core/hub-config.ts'
import type { JsonObject } from '../core/json.ts'
import { isoTime } from '../core/time.ts'
import { findUnfitKeys } from '../keys/key-names.ts'
import { type KeyRecord, type NewKey, stateOf } from '../keys/key-record.ts'
import { keyFields } from '../keys/key-terms-fields.ts'
import type { Keys } from '../server/routes/keys.ts'
import { StoreOpenError } from '../store/environment/lmdb.ts'
import type { Store } from '../store/store.ts'
import { requireLog, SourceError } from '../store/verification/log-source.ts'
import {
  type Command,
  type CommandIo,
  DEFAULT_CONFIG,
  defaultConfig,
  type ExitCode,
  noAction,
  parseArguments,
  printProblems,
  UsageError,
  writeLine,
} from './command.ts'
import { commandActor } from './command-actor.ts'
import type { HubProgram } from './hub.ts'
import { readLabelOption } from './label-option.ts'
import { openConfiguredStore } from './open-store.ts'

const HELP = `Usage: sidegate keys create --name NAME [terms] [--config FILE]
       sidegate keys list [--json] [--config FILE]
       sidegate keys rotate ID --grace SECONDS [--config FILE]
       sidegate keys revoke ID [--config FILE]
       sidegate keys hash < KEY

Manages the API keys in the data directory of a running or stopped gateway on this
machine, or in the database of a hub. create and rotate print a key on standard output;
it is not shown again. A rotated key works until the grace ends; its successor has the
same name and terms. A revoked key is refused at once, also by a running gateway, and
also if the configuration declares it. With a hub (fleet) keys are managed there. hash
prints the SHA-256 of a key, as the configuration declares it. In a pipe the output is
JSON.

Terms of create:
  --models GLOBS        models that the key may call, separated by commas; !GLOB for
                        models that it may not. Default: all
  --expires TIME        a date, or a time such as 2027-01-01T00:00:00Z. Default: never
  --label NAME=VALUE    a label that rules can match; may be repeated
  --owner TEXT          who answers for the key; kept with it and never sealed
  --capture KIND        what is kept of its exchanges: full or metadata
  --max-parallel N      most calls at a time
  --namespaces GLOBS    at a hub: namespaces whose sidecars get the key. Default: all

  --json                list as JSON also on a terminal
  --config FILE         configuration of a gateway or a hub (default
                        ${DEFAULT_CONFIG})
  --help                print this text

Exit: 0 done, 1 refused, 2 could not run.
`

/** Longest input of `hash`. A key has 60 characters. */
const MAXIMUM_INPUT_CHARACTERS = 1024

const OPTIONS = {
  config: { type: 'string', takes: 'path' },
  name: { type: 'string' },
  models: { type: 'string' },
  expires: { type: 'string' },
  label: { type: 'string', multiple: true },
  owner: { type: 'string' },
  capture: { type: 'string', takes: ['full', 'metadata'] },
  'max-parallel': { type: 'string' },
  namespaces: { type: 'string' },
  grace: { type: 'string' },
  json: { type: 'boolean' },
} as const

const parse = (args: readonly string[]) => parseArguments(args, OPTIONS)

type Values = ReturnType<typeof parse>['values']

/** Options of each action, besides --config. */
const OPTIONS_OF: Readonly<Record<string, readonly (keyof typeof OPTIONS)[]>> = {
  create: ['name', 'models', 'expires', 'label', 'owner', 'capture', 'max-parallel', 'namespaces'],
  list: ['json'],
  rotate: ['grace'],
  revoke: [],
  hash: [],
}

/** @param loadHub loads the program of a hub, for a configuration of one */
export const keys = (loadHub: () => Promise<HubProgram>): Command => ({
  name: 'keys',
  summary: 'create, list, rotate, revoke and hash API keys',
  options: OPTIONS,
  argument: Object.keys(OPTIONS_OF),
  help: HELP,
  async run(args, io): Promise<ExitCode> {
    const { values, positionals, action } = readKeysArguments(args)
    if (action === 'hash') return hashInput(io)
    if (isHubConfig(values.config)) return (await loadHub()).runKeys(args, io)
    if (values.namespaces !== undefined) throw new UsageError('--namespaces needs the configuration of a hub')
    // The command does not need the gateway's secrets, so missing ones are ignored.
    const reading = readConfig(values.config, io.env, systemClock)
    const { config, problems } = reading
    if (config === null) {
      printProblems(io, problems, 'fix the configuration: it names the data directory')
      return 2
    }
    // A declared name is sealed when its key is revoked.
    const unfit = findUnfitKeys(reading, config)
    if (unfit.length > 0) {
      printProblems(io, unfit, 'fix the configuration: names and labels of keys are sealed in the log')
      return 2
    }
    let store: Store
    try {
      // Only create may make a data directory, for the first key.
      if (positionals[0] !== 'create') requireLog(config.data.path)
      store = openConfiguredStore(config)
    } catch (error) {
      if (!(error instanceof StoreOpenError || error instanceof SourceError)) throw error
      writeLine(io.err, `sidegate keys: ${error.message}`)
      return 2
    }
    try {
      await action(store.keys, io)
      return 0
    } finally {
      await store.close()
    }
  },
})

/** What a command does with the keys of a gateway or a hub. */
type KeysAction = (keys: Keys, io: CommandIo) => Promise<void>

/** Reads the arguments of `sidegate keys`. @throws UsageError */
export function readKeysArguments(args: readonly string[]) {
  const { values, positionals } = parse(args)
  const action = chooseAction(positionals, values)
  return { values: { ...values, config: values.config ?? defaultConfig() }, positionals, action }
}

function chooseAction([action = '', id, ...rest]: readonly string[], values: Values): KeysAction | 'hash' {
  if (rest.length > 0) throw new UsageError(`unexpected argument ${rest[0]}; give one action`)
  const allowed = OPTIONS_OF[action]
  if (allowed === undefined) throw noAction(action || undefined, Object.keys(OPTIONS_OF))
  if ((id === undefined) === (action === 'rotate' || action === 'revoke'))
    throw new UsageError('give an action: create, list, rotate ID, revoke ID, or hash')
  const extra = Object.keys(values).find(
    (name) => name !== 'config' && !allowed.includes(name as keyof typeof OPTIONS),
  )
  if (extra !== undefined) throw new UsageError(`${action} does not take --${extra}`)
  switch (action) {
    case 'create': {
      const { name } = values
      if (name === undefined) throw new UsageError('create needs --name NAME')
      const terms = termsOf(values)
      return async (all, io) => showKey(all, await all.create(name, commandActor(), terms).catch(rethrow), io)
    }
    case 'list':
      return async (all, io) => list(await all.list(), values.json === true || !io.out.isTTY, io)
    case 'rotate': {
      const grace = wholeNumber('grace', values.grace)
      if (grace === undefined)
        throw new UsageError('rotate needs --grace SECONDS, for which the old key still works')
      return async (all, io) => showKey(all, await all.rotate(id!, grace, commandActor()), io)
    }
    case 'revoke':
      return async (all, io) => {
        const record = await all.revoke(id!, commandActor())
        const working = await all.workingPredecessors(id!)
        const rest = working.map(
          (one) => `; ${one.id}, which it replaced, still works: sidegate keys revoke ${one.id}`,
        )
        report(describe(record), `revoked ${record.id} (${record.name})${rest.join('')}`, io)
      }
    default:
      return 'hash'
  }
}

/** The terms as fields of the API. */
function termsOf(values: Values): JsonObject {
  const { models, expires, label, owner, capture, namespaces } = values
  const parallel = wholeNumber('max-parallel', values['max-parallel'])
  return {
    ...(models !== undefined && { models: globsIn(models) }),
    ...(namespaces !== undefined && { namespaces: globsIn(namespaces) }),
    ...(expires !== undefined && { expires_at: expires }),
    ...(label !== undefined && { labels: readLabelOption(label) }),
    ...(owner !== undefined && { owner }),
    ...(capture !== undefined && { capture }),
    ...(parallel !== undefined && { max_parallel: parallel }),
  }
}

const globsIn = (text: string): string[] => (text === '' ? [] : text.split(',').map((glob) => glob.trim()))

function wholeNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new UsageError(`--${option} must be a whole number`)
}

/** Options by the fields that they set. */
const OPTION_OF: Readonly<Record<string, string>> = {
  expires_at: '--expires',
  labels: '--label',
  max_parallel: '--max-parallel',
}

/** Turns an invalid name or term into a usage error. */
function rethrow(error: unknown): never {
  if (!(error instanceof GatewayError) || error.param === null) throw error
  const option = OPTION_OF[error.param] ?? `--${error.param}`
  throw new UsageError(error.message.replace(/^[\w.[\]]+/, option))
}

async function showKey(all: Keys, { record, key }: NewKey, io: CommandIo): Promise<void> {
  const { id, name } = record
  const output = io.out.isTTY
    ? `${key}\n\nKey ${id} (${visibleLine(name)}). It is not shown again; store it where your app reads its secrets.\n`
    : `${JSON.stringify({ id, key, name, created_at: isoTime(record.createdAtMs) })}\n`
  const fault = await new Promise((resolve) => io.out.write(output, resolve))
  if (fault === null || fault === undefined) return
  // Nobody has seen the key, so nobody uses it.
  await all.revoke(id, commandActor())
  throw new Error(`the key could not be written to standard output and was revoked (${id}); create another`)
}

function list(records: readonly KeyRecord[], asJson: boolean, io: CommandIo): void {
  if (asJson) {
    for (const record of records) writeLine(io.out, JSON.stringify(describe(record)))
    return
  }
  if (records.length === 0) writeLine(io.out, 'No keys yet: sidegate keys create --name NAME')
  for (const record of records) {
    const { id, name, prefix, terms, source } = record
    const state = stateOf(record, systemClock.now())
    const labels = Object.entries(terms.labels).map(([label, value]) => `  ${label}=${value}`)
    const models = terms.models === null ? '' : `  models ${terms.models.join(',') || 'none'}`
    const columns = `${id}  ${state.padEnd(7)}  ${(prefix ?? 'by hash').padEnd(24)}  ${name}`
    const origin = source === 'hub' ? '  of the hub' : ''
    writeLine(io.out, visibleLine(columns + labels.join('') + models + origin))
  }
}

const describe = (record: KeyRecord): JsonObject => keyFields(record, systemClock.now())

function report(value: object, text: string, io: CommandIo): void {
  writeLine(io.out, io.out.isTTY ? visibleLine(text) : JSON.stringify(value))
}

/** Prints the hash of the key on standard input: a command line is shown by `ps`. */
async function hashInput(io: CommandIo): Promise<ExitCode> {
  let input = ''
  for await (const piece of process.stdin) {
    input += String(piece)
    if (input.length > MAXIMUM_INPUT_CHARACTERS) break
  }
  const key = input.trim()
  if (!parseApiKey(key)) {
    writeLine(io.err, 'sidegate keys: standard input holds no API key, which begins with sgate_live_')
    return 1
  }
  report({ sha256: hashApiKey(key) }, hashApiKey(key), io)
  return 0
}
