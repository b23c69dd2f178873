// Reads the configuration for commands that work with rules only.

import { systemClock } from '../core/clock.ts'
import { type Config, readConfig } from '../core/config.ts'
import { formatProblem } from '../core/problem.ts'
import { type CommandIo, UsageError } from './command.ts'

/** @throws UsageError for a file that is no configuration */
export function usableConfig(file: string, { env }: Pick<CommandIo, 'env'>): Config {
  // These commands do not need the gateway's secrets, so missing ones are ignored.
  const { config, problems } = readConfig(file, env, systemClock)
  if (config === null)
    throw new UsageError(`the configuration cannot be used:\n${problems.map(formatProblem).join('\n')}`)
  return config
}
