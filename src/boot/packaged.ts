#!/usr/bin/env -S node --expose-gc --min-semi-space-size=4 --max-semi-space-size=16 --heap-growing-percent=100 --no-memory-reducer
// The program, run as it is built (.build.ts makes dist/main.js of this file): arguments, exit code; no logic.

import { loadProgram } from './built-program.ts'
import { refuseOldNode } from './node-version.ts'

refuseOldNode()
void loadProgram(import.meta.dirname)
  .run(process.argv.slice(2))
  // Nothing is left to do: a connection that lingers must not keep the process.
  .then((code) => process.exit(code))
