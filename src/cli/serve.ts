// `sidegate serve`: runs the gateway until a signal.

import { existsSync } from 'node:fs'
import { systemClock } from '../core/clock.ts'
import { type ConfigReading, readConfig } from '../core/config.ts'
import type { Address } from '../core/config-values.ts'
import type { JsonObject } from '../core/json.ts'
import {
  type Command,
  DEFAULT_CONFIG,
  defaultConfig,
  type ExitCode,
  parseOptions,
  printProblems,
  UsageError,
} from './command.ts'
import type { RunGateway } from './running-gateway.ts'
import { Signals, untilStopped } from './signals.ts'

const HELP = `Usage: sidegate serve [--config FILE] [--gateway HOST:PORT] [--ops HOST:PORT]

Runs the gateway. Reports every error in the configuration, rules and prices at once,
before it listens.

  --config FILE         configuration (default ${DEFAULT_CONFIG});
                        \`sidegate init\` writes one
  --gateway HOST:PORT   address of the gateway instead of listen.gateway
  --ops HOST:PORT       address of health and metrics instead of listen.ops
  --help                print this text

Environment: SIDEGATE_INSTANCE names this run in the log (for example the UID of a Pod).
Other variables are read only if the configuration names them.
Signals: SIGTERM, SIGINT and SIGQUIT finish running calls (limits.drainSeconds) and stop;
a second one interrupts and seals them at once. SIGHUP loads rules, prices and what a
reload can of the configuration again; /readyz names what needs a restart.
SIGUSR1 and SIGUSR2 do nothing: the debugger stays closed.
Exit: 0 stopped by a signal, 1 failed, 2 could not start. When a write to the log hangs,
or an unexpected error occurs, the process kills itself with SIGKILL; let a supervisor
restart it.
`

const OPTIONS = {
  config: { type: 'string', takes: 'path' },
  gateway: { type: 'string' },
  ops: { type: 'string' },
} as const

const MAXIMUM_PORT = 65_535

/** @param runGateway starts a gateway; the composition root passes it in */
export const serve = (runGateway: RunGateway): Command => ({
  name: 'serve',
  summary: 'run the gateway',
  isService: true,
  options: OPTIONS,
  help: HELP,
  async run(args, io): Promise<ExitCode> {
    const { values } = parseOptions(args, OPTIONS)
    const gatewayAddress = readHostPort('gateway', values.gateway)
    const opsAddress = readHostPort('ops', values.ops)
    const signals = new Signals()
    const file = values.config ?? defaultConfig()
    const reading = readConfig(file, io.env, systemClock)
    const gateway = await runGateway(listenAt(reading, gatewayAddress, opsAddress))
    if ('problems' in gateway) {
      printProblems(
        io,
        gateway.problems,
        existsSync(file)
          ? 'nothing was started. To try Sidegate without an account, run: sidegate demo (in a checkout: npm run demo)'
          : 'nothing was started. To write a configuration with sample rules, run: sidegate init',
      )
      return 2
    }
    return untilStopped(gateway, signals)
  },
})

/**
 * Reads the value of an option; absent without one.
 * @throws UsageError for another form
 */
function readHostPort(option: string, text: string | undefined): Address | undefined {
  if (text === undefined) return undefined
  const [, ip6, name, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^[\]:\s]+)):(\d{1,5})$/.exec(text) ?? []
  const host = ip6 ?? name
  if (host === undefined || Number(port) > MAXIMUM_PORT)
    throw new UsageError(`--${option} takes HOST:PORT, such as 0.0.0.0:8484`)
  return { host, port: Number(port) }
}

/** Returns a reading with other addresses, also when the file is read again. */
function listenAt(reading: ConfigReading, gateway?: Address, ops?: Address): ConfigReading {
  const { config, settings, source } = reading
  const given = { ...(gateway === undefined ? {} : { gateway }), ...(ops === undefined ? {} : { ops }) }
  return {
    ...reading,
    config: config === null ? null : { ...config, listen: { ...config.listen, ...given } },
    settings: settings === null ? null : withoutListeners(settings, Object.keys(given)),
    source:
      source === null ? null : { ...source, parse: (text) => listenAt(source.parse(text), gateway, ops) },
  }
}

/** What the file says about listeners whose address is given makes no difference. */
const withoutListeners = (settings: JsonObject, names: readonly string[]): JsonObject => ({
  ...settings,
  listen: Object.fromEntries(
    Object.entries(settings['listen'] as JsonObject).filter(([name]) => !names.includes(name)),
  ),
})
