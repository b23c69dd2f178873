// Says which names an administrator may have. A name is sealed in every entry of a change that its
// administrator makes, which an erasure leaves as it is.

import type { Config, ConfigReading } from '../core/config.ts'
import { isAmong } from '../core/config-document.ts'
import type { Problem } from '../core/problem.ts'
import { whyNotKeyName } from './key-names.ts'

/** Returns a problem for each declared administrator whose name no key could have either. */
export function findUnfitAdminNames(
  { problems, problemAt }: ConfigReading,
  { admin }: Pick<Config, 'admin'>,
): Problem[] {
  return admin.tokens.flatMap(({ name, declaredAt }) => {
    const path = [...declaredAt, 'name']
    const reason = isAmong(problems, path) ? null : whyNotKeyName(name)
    return reason === null ? [] : [problemAt(path, reason)]
  })
}
