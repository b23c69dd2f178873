// `sidegate serve`: the gateway until a signal ends it.

import { parseArgs } from 'node:util'
import { systemClock } from '../core/clock.ts'
import { readConfig } from '../core/config.ts'
import { type Command, DEFAULT_CONFIG, type ExitCode, printProblems } from './command.ts'
import type { RunGateway } from './running-gateway.ts'
import { Signals, untilStopped } from './signals.ts'

const HELP = `Usage: sidegate serve [--config FILE]

Runs the gateway. Every mistake in the configuration and the rules is reported at
once, before anything listens.

  --config FILE   configuration (default ${DEFAULT_CONFIG})
  --help          this text

Environment: SIDEGATE_INSTANCE is what the log calls this run (a Pod's UID); beyond it
only the variables that the configuration names.
Signals: SIGTERM and SIGINT finish running calls (limits.drainSeconds) and stop; a
second one ends them at once, sealed. SIGHUP loads the rules again.
Exit: 0 stopped as asked, 1 failed, 2 could not start. A write to the log that
hangs and an error nobody foresaw end the process with SIGKILL, for whatever looks
after it to start another.
`

/** @param runGateway the composition root, handed in from above */
export const serve = (runGateway: RunGateway): Command => ({
  name: 'serve',
  summary: 'run the gateway',
  isService: true,
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values } = parseArgs({
      args: [...args],
      options: { config: { type: 'string', default: DEFAULT_CONFIG } },
    })
    const signals = new Signals()
    const reading = readConfig(values.config, process.env, systemClock)
    const gateway = await runGateway(reading)
    if ('problems' in gateway) {
      printProblems(
        gateway.problems,
        'nothing was started. To try the product without an account: npm run demo',
      )
      return 2
    }
    return untilStopped(gateway, signals)
  },
})
