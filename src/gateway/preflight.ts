// Finds the reasons why a gateway cannot start, before anything is opened: busy ports, missing
// rules or prices, an unsafe environment, names that no key or administrator may have, a data
// folder that cannot be written, an unusable signing key. Changes nothing.

import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { whyNotSigner } from '../audit/note.ts'
import type { Config, ConfigReading } from '../core/config.ts'
import { isAmong } from '../core/config-document.ts'
import type { Problem } from '../core/problem.ts'
import { findUnfitAdminNames } from '../keys/admin-names.ts'
import { findUnfitKeys } from '../keys/key-names.ts'
import { whyNoPrices } from '../prices/price-file.ts'
import { whyNoRules } from '../rules/files.ts'
import { whyNotListen } from '../server/address.ts'
import { findUnusableCertificates } from '../upstream/client-certificates.ts'
import { unsafeSettings } from '../upstream/environment.ts'
import { whyNotStart } from './live-certificate.ts'

/**
 * Returns every obstacle, at its key of the configuration. Keys that have a problem already are
 * skipped.
 */
export async function findObstacles(reading: ConfigReading, config: Config): Promise<Problem[]> {
  const problems = findUnfit(reading, config)
  const add = (path: readonly string[], reason: string | null) => {
    if (reason !== null && !isAmong(reading.problems, path)) problems.push(reading.problemAt(path, reason))
  }
  for (const name of ['gateway', 'ops'] as const)
    add(['listen', name], await whyNotListen(config.listen[name]))
  for (const name of ['tls', 'opsTls'] as const) add(['listen', name], whyNotStart(config.listen[name]))
  add(['rules', 'path'], whyNoRules(config.rules.path))
  if (config.prices !== null) add(['prices', 'path'], whyNoPrices(config.prices.path))
  const { signingKey } = config.audit
  if (signingKey !== null) add(['audit', 'signingKey'], whyNotSigner(signingKey.current()))
  add(['data', 'path'], whyNotWrite(config.data.path))
  return problems
}

/**
 * Returns what is wrong with names, upstreams and the identity provider, at start and when they
 * change.
 */
export function findUnfit(reading: ConfigReading, config: Config): Problem[] {
  const problems = [...findUnfitKeys(reading, config), ...findUnfitAdminNames(reading, config)]
  const settings = { env: process.env, options: process.execArgv }
  for (const { path, message } of unsafeSettings(config, settings))
    problems.push(reading.problemAt(path, message))
  for (const { path, message } of findUnusableCertificates(config.upstreams))
    if (!isAmong(reading.problems, path)) problems.push(reading.problemAt(path, message))
  return problems
}

/** A missing folder is created, so the nearest existing one must be writable. */
function whyNotWrite(path: string): string | null {
  let nearest = path
  while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest)
  try {
    if (!statSync(nearest).isDirectory()) return `${nearest} is not a folder; choose another path`
    accessSync(nearest, constants.W_OK | constants.X_OK)
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return `${nearest} cannot be written (${code}); give this user the permission or choose another path`
  }
}
