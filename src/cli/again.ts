// This very command line once more, in a child with its input and output.

import { type ChildProcess, spawn } from 'node:child_process'

export const runAgain = (env: NodeJS.ProcessEnv = process.env): ChildProcess =>
  spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], { stdio: 'inherit', env })
