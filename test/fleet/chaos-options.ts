// The arguments of `npm run fleet:chaos`.

import { parseArgs } from 'node:util'

const HELP = `Usage: npm run fleet:chaos [-- --quick] [--seed N] [--steps N] [--sidecars N] [--entries N] [--limits N] [--json FILE]

Starts PostgreSQL, two hubs, three sidecars and, in this process, 1,000 simulated ones
made of the client, the memory and the shipper of a sidecar. First all of them send the
entries of an outage to one hub. Then calls use limits of the hub, and keys change at
random hubs, while sidecars, hubs and the database are killed, cut off and frozen: compares
what is used in each window with the limit, what every sidecar decides with what the answers
promised, and in the end every log with what its sidecar has sealed.

  --quick         as many steps as fit in 45 s; four minutes in all
  --seed N        repeats the random choices of another run (times differ); printed
  --steps N       random steps (default 10000)
  --sidecars N    simulated sidecars (default 1000)
  --entries N     entries of each after the outage (default 600; 100 with --quick)
  --limits N      seconds of calls, half of them without faults (default 120; 60 with --quick)
  --json FILE     write the figures to FILE as one JSON object
  --help          print this text

Exit: 0 no violation and every figure within its limit, 1 not, 2 wrong arguments.
`
const ENTRIES = '600'
const QUICK_ENTRIES = '100'
/** So long that the part without faults is several windows. */
const LIMITS = '120'
const QUICK_LIMITS = '60'

type NumberName = 'seed' | 'steps' | 'sidecars' | 'entries' | 'limits'

export interface ChaosOptions {
  readonly isQuick: boolean
  readonly seed: number
  readonly steps: number
  readonly sidecars: number
  readonly entries: number
  readonly limits: number
  readonly json: string | undefined
}

/** Reads the command line; ends the process at `--help` and at wrong arguments. */
export function readOptions(): ChaosOptions {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
        steps: { type: 'string', default: '10000' },
        sidecars: { type: 'string', default: '1000' },
        entries: { type: 'string' },
        limits: { type: 'string' },
        json: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) {
      process.stdout.write(HELP)
      process.exit(0)
    }
    const { quick: isQuick, json, seed, steps, sidecars } = values
    const { entries = isQuick ? QUICK_ENTRIES : ENTRIES, limits = isQuick ? QUICK_LIMITS : LIMITS } = values
    const numbers = Object.entries({ seed, steps, sidecars, entries, limits }).map(([name, text]) => {
      const number = Number(text)
      if (!Number.isSafeInteger(number) || number < 1) throw new Error(`--${name} takes a number from 1`)
      return [name, number] as const
    })
    return { isQuick, json, ...(Object.fromEntries(numbers) as Record<NumberName, number>) }
  } catch (error) {
    process.stderr.write(`fleet:chaos: ${(error as Error).message}\n`)
    process.exit(2)
  }
}
