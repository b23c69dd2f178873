// The program of a hub: reads its arguments, and runs it or migrates its tables.

import { randomBytes } from 'node:crypto'
import {
  type CommandIo,
  type ExitCode,
  noAction,
  parseArguments,
  printProblems,
  writeLine,
} from './cli/command.ts'
import { HUB_OPTIONS, type HubProgram } from './cli/hub.ts'
import { readKeysArguments } from './cli/keys.ts'
import { Signals } from './cli/signals.ts'
import { type Milliseconds, systemClock } from './core/clock.ts'
import { type HubConfigReading, readHubConfig } from './core/hub-config.ts'
import { systemTimers } from './core/timers.ts'
import { Confirmation } from './hub/confirmation.ts'
import { verifyLogs as verifyEach } from './hub/fleet-verification.ts'
import { runHub } from './hub/hub.ts'
import { madeKeys } from './hub/hub-routes.ts'
import { type Database, onlyRow, withDatabase } from './ledger/database.ts'
import { HubLog } from './ledger/hub-log.ts'
import { KeyLedger } from './ledger/key-ledger.ts'
import { assertMigrated, beginEpoch, migrate } from './ledger/migrate.ts'
import { SidecarLedger } from './ledger/sidecar-ledger.ts'
import { StoredLogs } from './ledger/stored-logs.ts'
import { rebuildSums } from './ledger/usage-rebuild.ts'

/** Interval at which a command reads what sidecars have acknowledged. */
const LOOK_MS: Milliseconds = 50

/** Runs `sidegate hub` with the arguments after it. */
export async function runHubCommand(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { values, positionals } = parseArguments(args, HUB_OPTIONS)
  const [action, ...rest] = positionals
  if ((action !== undefined && action !== 'migrate') || rest.length > 0)
    throw noAction(rest[0] ?? action, ['migrate', 'none at all'])
  const reading = readHubConfig(values.config, io.env, systemClock)
  return action === 'migrate' ? runMigration(reading, values['new-epoch'], io) : serveHub(reading, io)
}

async function serveHub(reading: HubConfigReading, io: CommandIo): Promise<ExitCode> {
  const signals = new Signals()
  const hub = await runHub(reading)
  if ('problems' in hub) {
    printProblems(io, hub.problems, 'nothing was started')
    return 2
  }
  signals.onHangup = () => void hub.reload()
  await signals.stop()
  await Promise.race([hub.stop(), signals.stop()])
  return 0
}

/** Runs `sidegate keys` with the arguments after it, on the database of a hub. */
export async function runKeys(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { values, action } = readKeysArguments(args)
  const url = databaseUrl(readHubConfig(values.config, io.env, systemClock), io)
  if (url === null || action === 'hash') return 2
  await withDatabase(url, async (database) => {
    const shared = { database, clock: systemClock, random: randomBytes }
    await assertMigrated(database)
    const log = new HubLog(shared)
    await log.open()
    const before = await revision(database)
    await action(madeKeys(new KeyLedger({ ...shared, log })), io)
    const after = await revision(database)
    if (after > before) await printConfirmation(after, new SidecarLedger({ database, log }), io)
  })
  return 0
}

/** Counts the log in the database of a hub again, as HubProgram says. */
export const rebuildRollups: HubProgram['rebuildRollups'] = async (file, io, progress) => {
  const reading = readHubConfig(file, io.env, systemClock)
  const url = databaseUrl(reading, io)
  const { config } = reading
  if (url === null || config === null) return null
  return withDatabase(url, async (database) => {
    await assertMigrated(database)
    return rebuildSums(database, config.audit.user, progress)
  })
}

/** Verifies every log of a database, as HubProgram says. */
export const verifyLogs: HubProgram['verifyLogs'] = (url, evidence, progress) =>
  withDatabase(url, (database) => verifyEach(new StoredLogs(database), evidence, progress))

const revision = async (database: Database): Promise<number> =>
  (await onlyRow(database.rows<{ rev: number }>('select rev from fleet_head'))).rev

/** Waits for the sidecars as a hub does, and prints which have the changes. */
async function printConfirmation(rev: number, sidecars: SidecarLedger, io: CommandIo): Promise<void> {
  const confirmation = new Confirmation({
    catchUp: async () => {},
    rev: () => rev,
    rows: () => sidecars.list(),
    feed: () => undefined,
    clock: systemClock,
    timers: systemTimers,
  })
  const looks = setInterval(confirmation.remoteAcknowledged, LOOK_MS)
  try {
    const { registered, acked, unconfirmed_names, in_force_everywhere_by } = await confirmation.confirm()
    const names = (unconfirmed_names as string[]).join(', ')
    const rest =
      names === '' ? '.' : `; without it: ${names}. In force everywhere by ${in_force_everywhere_by}.`
    writeLine(io.err, `${acked} of ${registered} sidecars have the change${rest}`)
  } finally {
    clearInterval(looks)
  }
}

/** The URL of the database, which is all that a command needs; prints why there is none. */
function databaseUrl({ config, problems }: HubConfigReading, io: CommandIo): string | null {
  const url = config?.database.url ?? null
  const relevant = problems.filter(({ path }) => config === null || path.startsWith('database'))
  if (url !== null && relevant.length === 0) return url.current()
  printProblems(io, relevant, 'nothing was changed')
  return null
}

async function runMigration(
  reading: HubConfigReading,
  isNewEpoch: boolean,
  io: CommandIo,
): Promise<ExitCode> {
  const url = databaseUrl(reading, io)
  if (url === null) return 2
  const { from, to } = await migrate(url)
  writeLine(
    io.out,
    from === to
      ? `The tables have version ${to} already.`
      : `The tables have version ${to}; before, ${from}.`,
  )
  if (isNewEpoch) writeLine(io.out, `A new epoch has begun: ${await beginEpoch(url)}.`)
  return 0
}
