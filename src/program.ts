// Composes the commands and dispatches the arguments to one of them.

import { join } from 'node:path'
import { loadHubProgram } from './boot/hub-program.ts'
import { audit } from './cli/audit.ts'
import { check } from './cli/check.ts'
import type { Command } from './cli/command.ts'
import { completion } from './cli/completion.ts'
import { demo } from './cli/demo.ts'
import { diff } from './cli/diff.ts'
import { dispatch } from './cli/dispatch.ts'
import { evaluate } from './cli/evaluate-text.ts'
import { type HubProgram, hub } from './cli/hub.ts'
import { init } from './cli/init.ts'
import { keys } from './cli/keys.ts'
import { rules } from './cli/list-rules.ts'
import { serve } from './cli/serve.ts'
import { test } from './cli/test.ts'
import { usage } from './cli/usage.ts'
import { runGateway } from './gateway.ts'

/** Sample configuration. `config` is next to both src/ and dist/. */
const SAMPLES = join(import.meta.dirname, '../config')

const loadHub = () => loadHubProgram<HubProgram>()

/** In the order of the overview. */
export const COMMANDS: readonly Command[] = [
  serve(runGateway),
  demo(runGateway, join(SAMPLES, 'rules')),
  init(SAMPLES),
  check,
  test,
  diff,
  evaluate,
  rules,
  keys(loadHub),
  usage,
  audit(loadHub),
  hub(loadHub),
  completion(() => COMMANDS),
]

/**
 * Runs the program.
 * @param args command-line arguments without the names of Node and of the program
 * @returns the exit code
 */
export const run = (args: readonly string[]): Promise<number> => dispatch(args, COMMANDS)
