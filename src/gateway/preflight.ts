// What can be seen to be in the way of a start before anything is opened: ports that are taken, rules that are not
// there, a data folder that cannot be written, a key that is none. Changes nothing.

import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Config, type ConfigReading, isAmong } from '../core/config.ts'
import type { Problem } from '../core/problem.ts'
import type { Secret } from '../core/secret.ts'
import { whyNoRules } from '../rules/files.ts'
import { whyNotListen } from '../server/address.ts'
import { checkSigningKey } from '../store/folder/signingkey.ts'

/** Every obstacle, at the key of the configuration that leads to it, unless something is wrong with that key already. */
export async function findObstacles(reading: ConfigReading, config: Config): Promise<Problem[]> {
  const problems: Problem[] = []
  const add = (path: readonly string[], reason: string | null) => {
    if (reason !== null && !isAmong(reading.problems, path)) problems.push(reading.problemAt(path, reason))
  }
  for (const name of ['gateway', 'ops'] as const)
    add(['listen', name], await whyNotListen(config.listen[name]))
  add(['rules', 'path'], whyNoRules(config.rules.path))
  add(['audit', 'signingKey'], whyNotSign(config.audit.signingKey))
  add(['data', 'path'], whyNotWrite(config.data.path))
  return problems
}

function whyNotSign(key: Secret | null): string | null {
  try {
    if (key !== null) checkSigningKey(key.current())
    return null
  } catch {
    return 'is not an Ed25519 private key in PEM (PKCS#8); make one with: openssl genpkey -algorithm ed25519'
  }
}

/** The folder is made if missing, so what counts is the nearest one that exists. */
function whyNotWrite(path: string): string | null {
  let nearest = path
  while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest)
  try {
    if (!statSync(nearest).isDirectory()) return `${nearest} is not a folder`
    accessSync(nearest, constants.W_OK | constants.X_OK)
    return null
  } catch (error) {
    return `${nearest} cannot be written (${(error as NodeJS.ErrnoException).code})`
  }
}
