// `sidegate hub`: loads the program of a hub, which a gateway never loads, and runs it.

import type { LogVerdict } from '../audit/log-verify.ts'
import type { AuditorEvidence } from '../audit/survey.ts'
import type { Milliseconds } from '../core/clock.ts'
import type { Command, CommandIo, ExitCode } from './command.ts'

const HELP = `Usage: sidegate hub [--config FILE]
       sidegate hub migrate [--new-epoch] [--config FILE]

Runs a hub, which keeps API keys and the sessions of administrators in a PostgreSQL
database that several hubs may share, and seals every change. Gateways with \`fleet\` in
their configuration take keys, rules and prices from it, count limits over all of them
and send it their logs: see config/fleet.md. migrate creates or upgrades the tables; run
it as the owner of the database before a new release of the hub.

  --new-epoch     with migrate: says that the database was restored from a backup
  --config FILE   configuration (default config/hub.yaml)
  --help          print this text

Signals: SIGTERM, SIGINT and SIGQUIT let answers under way end and stop. SIGHUP loads
administrators and log level again; /readyz names what needs a restart.
Exit: 0 stopped or done, 1 failed, 2 could not start.
`

/** What the program of a hub parses its arguments by. */
export const HUB_OPTIONS = {
  config: { type: 'string', default: 'config/hub.yaml', takes: 'path' },
  'new-epoch': { type: 'boolean', default: false },
} as const

/** A log of a fleet, and the verdict on it. */
export interface LogVerdictOf {
  /** Whose log; null for that of the hubs, and for one that is missing. */
  readonly sidecar: string | null
  /** Cluster, namespace and name of the sidecar; null for one that is not registered any more. */
  readonly name: string | null
  /** `open`, `closed`, `cut` or `forked`; `missing` for a log that the database should have. */
  readonly state: string
  readonly verdict: LogVerdict
}

/** The program of a hub. */
export interface HubProgram {
  runHubCommand(args: readonly string[], io: CommandIo): Promise<ExitCode>
  /** Runs `sidegate keys` with the arguments after it, on the database of a hub. */
  runKeys(args: readonly string[], io: CommandIo): Promise<ExitCode>
  /**
   * Counts the log in the database of a hub into the sums of usage again.
   * @param config file with the configuration of the hub
   * @param progress receives fractions of 1
   * @returns the calls counted, and the start of the first hour of which all were, null for the
   * whole log; null when the configuration cannot be used, whose errors are printed
   * @throws GatewayError (rejects) `conflict` while another count runs, `fleet_unavailable`; the
   * error of the server
   */
  rebuildRollups(
    config: string,
    io: CommandIo,
    progress: (done: number) => void,
  ): Promise<{ readonly calls: number; readonly sinceMs: Milliseconds | null } | null>
  /**
   * Verifies every log of a database.
   * @param url read by any role that may read the tables
   * @param progress receives fractions of 1
   * @throws GatewayError (rejects) `fleet_unavailable`; the error of the server
   */
  verifyLogs(
    url: string,
    evidence: AuditorEvidence,
    progress: (done: number) => void,
  ): Promise<readonly LogVerdictOf[]>
}

/**
 * What a thousand feeds allocate lives as long as they do: a larger young generation stays resident
 * and saves nothing. V8 returns what a busy time leaves, as no IdleCollector of a gateway does it
 * here. Two arenas, as in the image, for the buffers of their sockets.
 */
const MEMORY = {
  options: ['--max-semi-space-size=4', '--memory-reducer'],
  env: { MALLOC_ARENA_MAX: '2' },
}

/** @param load loads the program */
export const hub = (load: () => Promise<HubProgram>): Command => ({
  name: 'hub',
  summary: 'run a hub, which keeps the API keys of many gateways in PostgreSQL',
  isService: true,
  memory: MEMORY,
  options: HUB_OPTIONS,
  argument: ['migrate'],
  help: HELP,
  run: async (args, io) => (await load()).runHubCommand(args, io),
})
