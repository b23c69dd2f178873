#!/usr/bin/env -S node --expose-gc --min-semi-space-size=4 --max-semi-space-size=16 --heap-growing-percent=100 --no-memory-reducer
// The program, run from its source: arguments, exit code; no logic.

import { refuseOldNode } from './boot/node-version.ts'

refuseOldNode()
const { run } = await import('./program.ts')
process.exitCode = await run(process.argv.slice(2))
// Nothing is left to do: a connection that lingers must not keep the process.
process.exit()
