// The actions of `sidegate audit` on the database of hubs: `verify --fleet` verifies every log, and
// `rollup --rebuild` counts them again.

import type { AuditorEvidence } from '../audit/survey.ts'
import { verdictObject } from '../audit/verdict.ts'
import { GatewayError, messageWithCause } from '../core/errors.ts'
import { visibleLine } from '../core/hidden-characters.ts'
import { isDatabaseUrl } from '../core/hub-config.ts'
import { isoTime } from '../core/time.ts'
import { SourceError } from '../store/verification/log-source.ts'
import { printRebuilt } from './audit-change.ts'
import { progressBar, readInput, verdictText } from './audit-verify.ts'
import { type CommandIo, type ExitCode, writeLine } from './command.ts'
import type { HubProgram, LogVerdictOf } from './hub.ts'

/** Environment variable with the URL of the database; an argument would be seen by `ps`. */
const DATABASE_URL = 'SIDEGATE_DATABASE_URL'

interface FleetOptions {
  /** Holds the URL in place of the environment variable. */
  readonly databaseFile: string | undefined
  readonly evidence: AuditorEvidence
  readonly format: 'pretty' | 'json'
}

/**
 * Verifies all logs and prints their verdicts: in JSON one object.
 * @throws SourceError (rejects) when the database cannot be read
 */
export async function verifyFleet(
  program: HubProgram,
  { databaseFile, evidence, format }: FleetOptions,
  io: CommandIo,
): Promise<ExitCode> {
  const url =
    databaseFile === undefined
      ? urlIn(io.env)
      : checked(readInput(databaseFile).toString('utf8').trim(), databaseFile)
  const bar = progressBar(io.err)
  const verdicts = await program.verifyLogs(url, evidence, bar).catch(asSourceError)
  bar(1)
  if (verdicts.length === 0) throw new SourceError('the database has no log; no hub has started on it yet')
  const isOk = verdicts.every(({ verdict }) => verdict.ok)
  if (format === 'json') {
    const logs = verdicts.map(({ verdict, ...log }) => ({ ...log, ...verdictObject(verdict) }))
    writeLine(io.out, JSON.stringify({ ok: isOk, logs }))
  } else {
    for (const log of verdicts) writeLine(io.out, `${titleOf(log)}\n${verdictText(log.verdict)}\n`)
    const failed = verdicts.filter(({ verdict }) => !verdict.ok).length
    writeLine(
      io.out,
      `${verdicts.length} ${verdicts.length === 1 ? 'log' : 'logs'}: ${isOk ? 'PASS' : `FAIL, ${failed} with findings`}`,
    )
  }
  return isOk ? 0 : 1
}

/**
 * Counts the log of the fleet again.
 * @param config the configuration of a hub
 * @throws SourceError (rejects) when that cannot be done
 */
export async function rebuildOfHub(program: HubProgram, config: string, io: CommandIo): Promise<ExitCode> {
  const bar = progressBar(io.err, 'counting')
  const rebuilt = await program.rebuildRollups(config, io, bar).catch((error) => {
    if (error instanceof GatewayError) throw new SourceError(error.message, { cause: error })
    return asSourceError(error)
  })
  if (rebuilt === null) return 2
  bar(1)
  const { calls, sinceMs } = rebuilt
  printRebuilt(calls, sinceMs === null ? null : isoTime(sinceMs), io)
  return 0
}

function titleOf({ sidecar, name, state }: LogVerdictOf): string {
  if (state === 'missing') return 'Missing log'
  if (sidecar === null) return 'Log of the hubs'
  const id = name === null ? `${sidecar}, not registered any more` : `${name} (${sidecar})`
  return `Log of ${visibleLine(id)}: ${state}`
}

function urlIn(env: NodeJS.ProcessEnv): string {
  const url = env[DATABASE_URL]
  if (url === undefined || url === '')
    throw new SourceError(
      `--fleet needs the URL of the database in ${DATABASE_URL}, or in a file: --database-file`,
    )
  return checked(url, DATABASE_URL)
}

/** The URL itself is not shown: it may hold a password. */
function checked(url: string, place: string): string {
  if (isDatabaseUrl(url) && URL.canParse(url)) return url
  throw new SourceError(
    `${place} holds no URL of a PostgreSQL database, such as postgres://user:password@host/database`,
  )
}

function asSourceError(error: unknown): never {
  const isServer = typeof (error as { code?: unknown }).code === 'string'
  if (!(error instanceof Error) || !isServer) throw error
  throw new SourceError(`the database cannot be read: ${messageWithCause(error)}`, { cause: error })
}
