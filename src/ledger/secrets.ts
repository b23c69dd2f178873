// Secrets that all hubs share. The first hub makes them.

import { type Database, onlyRow } from './database.ts'

/** Returns a secret; makes it when there is none. @param random bytes of the CSPRNG */
export async function sharedSecret(database: Database, name: string, random: Buffer): Promise<Buffer> {
  await database.rows('insert into secret (name, value) values ($1, $2) on conflict do nothing', [
    name,
    random,
  ])
  const rows = database.rows<{ value: Buffer }>('select value from secret where name = $1', [name])
  return (await onlyRow(rows)).value
}
