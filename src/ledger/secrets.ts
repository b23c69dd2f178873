// Secrets that all hubs share. The first hub makes them.

import type { Database } from './database.ts'

/** Returns a secret; makes it when there is none. @param random bytes of the CSPRNG */
export async function sharedSecret(database: Database, name: string, random: Buffer): Promise<Buffer> {
  await database.rows('insert into secret (name, value) values ($1, $2) on conflict do nothing', [
    name,
    random,
  ])
  const [row] = await database.rows<{ value: Buffer }>('select value from secret where name = $1', [name])
  if (row === undefined) throw new Error('a shared secret was not stored')
  return row.value
}
