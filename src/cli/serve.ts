// `sidegate serve`: runs the gateway until a signal.

import { systemClock } from '../core/clock.ts'
import { readConfig } from '../core/config.ts'
import { type Command, DEFAULT_CONFIG, type ExitCode, parseArguments, printProblems } from './command.ts'
import type { RunGateway } from './running-gateway.ts'
import { Signals, untilStopped } from './signals.ts'

const HELP = `Usage: sidegate serve [--config FILE]

Runs the gateway. Reports every error in the configuration, rules and prices at once,
before it listens.

  --config FILE   configuration (default ${DEFAULT_CONFIG})
  --help          print this text

Environment: SIDEGATE_INSTANCE names this run in the log (for example the UID of a Pod).
Other variables are read only if the configuration names them.
Signals: SIGTERM, SIGINT and SIGQUIT finish running calls (limits.drainSeconds) and stop;
a second one interrupts and seals them at once. SIGHUP loads rules and prices again.
SIGUSR1 and SIGUSR2 do nothing: the debugger stays closed.
Exit: 0 stopped by a signal, 1 failed, 2 could not start. When a write to the log hangs,
or an unexpected error occurs, the process kills itself with SIGKILL; let a supervisor
restart it.
`

const OPTIONS = { config: { type: 'string', default: DEFAULT_CONFIG, takes: 'path' } } as const

/** @param runGateway starts a gateway; the composition root passes it in */
export const serve = (runGateway: RunGateway): Command => ({
  name: 'serve',
  summary: 'run the gateway',
  isService: true,
  options: OPTIONS,
  help: HELP,
  async run(args, io): Promise<ExitCode> {
    const { values } = parseArguments({ args: [...args], options: OPTIONS })
    const signals = new Signals()
    const reading = readConfig(values.config, io.env, systemClock)
    const gateway = await runGateway(reading)
    if ('problems' in gateway) {
      printProblems(
        io,
        gateway.problems,
        'nothing was started. To try Sidegate without an account, run: npm run demo',
      )
      return 2
    }
    return untilStopped(gateway, signals)
  },
})
