// The arguments of `npm run fleet:chaos`.

import { parseArgs } from 'node:util'

const HELP = `Usage: npm run fleet:chaos [-- --quick] [--seed N] [--steps N] [--sidecars N] [--json FILE]

Starts PostgreSQL, two hubs, three sidecars and, in this process, 1,000 simulated ones
made of the client and the memory of a sidecar. Changes keys at random hubs while
sidecars, hubs and the database are killed, cut off and frozen, and compares what every
sidecar decides with what the answers promised.

  --quick         as many steps as fit in 45 s; two minutes in all
  --seed N        repeats the random choices of another run (times differ); printed
  --steps N       random steps (default 10000)
  --sidecars N    simulated sidecars (default 1000)
  --json FILE     write the figures to FILE as one JSON object
  --help          print this text

Exit: 0 no violation and every figure within its limit, 1 not, 2 wrong arguments.
`
export interface ChaosOptions {
  readonly isQuick: boolean
  readonly seed: number
  readonly steps: number
  readonly sidecars: number
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
        json: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) {
      process.stdout.write(HELP)
      process.exit(0)
    }
    const [seed, steps, sidecars] = (['seed', 'steps', 'sidecars'] as const).map((name) => {
      const number = Number(values[name])
      if (!Number.isSafeInteger(number) || number < 1) throw new Error(`--${name} takes a number from 1`)
      return number
    }) as [number, number, number]
    return { isQuick: values.quick, seed, steps, sidecars, json: values.json }
  } catch (error) {
    process.stderr.write(`fleet:chaos: ${(error as Error).message}\n`)
    process.exit(2)
  }
}
